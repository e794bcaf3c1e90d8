/** Make elements. Data only ever becomes text nodes and attribute values, never markup. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an HTML element. `on` holds listeners, `data` data attributes; a null attribute is left out.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...any} children strings, numbers, nodes, arrays of them; null and false are left out
 * @returns {any} an HTMLElement; which one depends on the tag
 */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * Make an SVG element; see h.
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, { on = {}, data = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const [name, value] of Object.entries(data)) {
    if (value !== null && value !== undefined) element.dataset[name] = String(value);
  }
  for (const [type, listener] of Object.entries(on)) element.addEventListener(type, listener);
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/**
 * Draw a part of the page anew, but only if what it shows has changed.
 * @param {Element} element
 * @param {any} shows compared by its JSON
 * @param {() => any} draw the new content
 * @returns {boolean} whether it was drawn
 */
export function redraw(element, shows, draw) {
  const key = JSON.stringify(shows);
  if (drawn.get(element) === key) return false;
  drawn.set(element, key);
  element.replaceChildren(...nodes([draw()]));
  return true;
}

const drawn = new WeakMap();
