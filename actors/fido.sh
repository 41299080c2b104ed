#!/bin/sh
# The `fido` command. Isolated mode (-I) keeps the workspace, PYTHONPATH and the user's site-packages out of
# every import, and -X utf8 makes all text UTF-8 in every locale; a generated entry point could not ask for it.
self=$0
while [ -h "$self" ]; do
    link=$(readlink "$self")
    case $link in
        /*) self=$link ;;
        *) self=${self%/*}/$link ;;
    esac
done
for python in "${self%/*}/python" "${self%/*}/python3"; do
    [ -x "$python" ] && exec "$python" -I -X utf8 -m actors.guard "$@"
done
echo "fido: there is no python beside $self. Install Fido into an environment of its own, as pipx does." >&2
exit 127
