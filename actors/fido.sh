#!/bin/sh
# The `fido` command. Isolated mode (-I) keeps the workspace, PYTHONPATH and the user's site-packages out of
# every import; a generated entry point could not ask for it.
self=$0
while [ -h "$self" ]; do
    link=$(readlink "$self")
    case $link in
        /*) self=$link ;;
        *) self=${self%/*}/$link ;;
    esac
done
exec "${self%/*}/python" -I -m actors.guard "$@"
