/** Move things over the table; nothing moves for those who prefer that. */

const reduced = matchMedia("(prefers-reduced-motion: reduce)");
const EASE = "cubic-bezier(.2,.8,.2,1)";
const TOO_FAST = 4; // times normal speed, from which on movements would only be a blur

let tempo = 1;

/** Set how much faster than normal things move. */
export function setTempo(times) {
  tempo = times;
}

/** Tell whether things may move now. */
export function moves() {
  return !reduced.matches && !document.hidden && tempo < TOO_FAST;
}

/**
 * Let an element come from where another one was.
 * @param {Element} element
 * @param {DOMRect} from
 * @param {{delay?: number, duration?: number}} [timing] in ms
 */
export function comeFrom(element, from, { delay = 0, duration = 650 } = {}) {
  if (!moves() || !from.width) return;
  const to = element.getBoundingClientRect();
  if (!to.width) return;
  const shift = `translate(${from.left - to.left}px, ${from.top - to.top}px)`;
  const start = { transform: `${shift} scale(${from.width / to.width})`, transformOrigin: "0 0" };
  const end = { transform: "none", transformOrigin: "0 0" };
  element.animate([start, end], {
    duration: paced(duration),
    delay: paced(delay),
    easing: EASE,
    fill: "backwards",
  });
}

/** Shorten a time at normal speed, in ms, to what it is now. */
export function paced(ms) {
  return ms / tempo;
}

/**
 * Send a copy of an element to where another one is.
 * @param {Element} element
 * @param {Element} target
 * @param {{delay?: number, duration?: number}} [timing] in ms
 */
export function flyTo(element, target, { delay = 0, duration = 900 } = {}) {
  if (!moves()) return;
  const from = element.getBoundingClientRect();
  const to = target.getBoundingClientRect();
  if (!from.width || !to.width) return;
  const ghost = /** @type {HTMLElement} */ (element.cloneNode(true));
  ghost.classList.add("ghost");
  ghost.setAttribute("aria-hidden", "true");
  const place = { left: from.left, top: from.top, width: from.width, height: from.height };
  for (const [name, px] of Object.entries(place)) ghost.style.setProperty(name, `${px}px`);
  document.body.append(ghost);
  const x = to.left + to.width / 2 - from.left - from.width / 2;
  const y = to.top + to.height / 2 - from.top - from.height / 2;
  const frames = [
    { transform: "none", opacity: 1 },
    { transform: "translateY(-10px) scale(1.15)", opacity: 1, offset: 0.25 },
    { transform: `translate(${x}px, ${y}px) scale(.45)`, opacity: 0.2 },
  ];
  const flight = ghost.animate(frames, {
    duration: paced(duration),
    delay: paced(delay),
    easing: "ease-in-out",
    fill: "both",
  });
  flight.finished.finally(() => ghost.remove());
}

/** Remember where a list's items are; the result lets them slide to where they are then. */
export function slide(items, keyOf) {
  const before = new Map(items.map((item) => [keyOf(item), item.getBoundingClientRect()]));
  return (after) => {
    for (const item of after) {
      const from = before.get(keyOf(item));
      if (from && Math.abs(from.top - item.getBoundingClientRect().top) > 1) {
        comeFrom(item, from, { duration: 500 });
      }
    }
  };
}
