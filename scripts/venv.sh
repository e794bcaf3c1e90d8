# For the scripts beside it: sets $root, and makes $root/.venv ready with `need run` or `need dev`.
# It installs again only when pyproject.toml or the folder's place has changed.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv

need() {
    { is_new_enough "$venv/bin/python" && [[ -x $venv/bin/pip ]]; } || make_venv
    if ! wanted | cmp -s - "$venv/installed-$1"; then
        echo "Installing what it needs into $venv ..." >&2
        "install_$1" || fail "The installation failed; see above."
        wanted > "$venv/installed-$1"
    fi
}

wanted() {
    echo "$root"
    cat -- "$root/pyproject.toml"
}

make_venv() {
    local python
    python=$(find_python) || fail "Python 3.11 or later is needed, and none of ${pythons[*]} is that."
    "$python" -m venv --clear "$venv" >&2 || {
        rm -rf -- "$venv"
        fail "$python can't make virtual environments. On Debian or Ubuntu: apt install python3-venv"
    }
}

pythons=(python3 python3.14 python3.13 python3.12 python3.11)

find_python() {
    local python
    for python in "${pythons[@]}"; do
        if is_new_enough "$python"; then
            echo "$python"
            return
        fi
    done
    return 1
}

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null
}

install_run() {
    pip_install --editable "$root"
}

install_dev() {
    pip_install --upgrade 'pip>=25.1' && # the first with --group
        pip_install --editable "$root" --group "$root/pyproject.toml:dev"
}

pip_install() {
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2
}

fail() {
    echo "$*" >&2
    exit 1
}
