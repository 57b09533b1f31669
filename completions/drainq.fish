# drainq: made by 'drainq completions', do not edit
# __drainq_ask: sets what `drainq complete` offers; false where it is files, which fish finds itself.
function __drainq_ask
    set -l tokens (commandline -opc)
    set -l current (commandline -ct | string unescape)
    set -g __drainq_offers (command $tokens[1] complete -- $tokens[2..] "$current" 2>/dev/null)
    set -l kind $__drainq_offers[1]
    set -e __drainq_offers[1]
    if test "$kind" = directories
        set -l kept (string match -r '^-[^=]*=' -- $current)
        set -g __drainq_offers (__fish_complete_directories (string replace -r '^-[^=]*=' '' -- $current) '' |
            string replace -r '^' -- "$kept")
    end
    test "$kind" != files
end
complete -c drainq -e
complete -c drainq -n __drainq_ask -f -a '$__drainq_offers'
