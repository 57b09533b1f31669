# drainq 0.1.0: made by 'drainq completions', do not edit
# __drainq_is COMMAND...: whether the command on the line is one of these; '' means no command.
function __drainq_is
    set -l tokens (commandline -opc)
    set -e tokens[1]
    while set -q tokens[1]
        switch $tokens[1]
            case -q --queue --config
                set -e tokens[1]
            case '-*'
            case '*'
                break
        end
        set -e tokens[1]
    end
    contains -- "$tokens[1]" $argv
end
# __drainq_queue FIELD ARGUMENT...: prints values of a field in the queue; none if there is no queue.
function __drainq_queue
    set -l tokens (commandline -opc)
    set -l program $tokens[1]
    set -l queue
    while set -q tokens[1]
        switch $tokens[1]
            case -q --queue
                set queue $tokens[2]
            case '-q=*' '--queue=*'
                set queue (string split -m 1 = -- $tokens[1])[2]
        end
        set -e tokens[1]
    end
    set -q queue[1]; and set queue --queue (string replace -r '^~/' $HOME/ -- $queue)
    command $program $argv[2..] $queue --json 2>/dev/null |
        string match -arg "\"$argv[1]\":\"([^\"\\\\]*)\"" | sort -u
end
complete -c drainq -e
complete -c drainq -f
complete -c drainq -n '__drainq_is ""' -a init -d 'make a queue directory and a commented configuration'
complete -c drainq -n '__drainq_is ""' -a add -d 'put operations into the queue'
complete -c drainq -n '__drainq_is ""' -a send -d 'send operations now, queue them if they have to wait'
complete -c drainq -n '__drainq_is ""' -a wait -d 'wait until operations are delivered or have failed'
complete -c drainq -n '__drainq_is ""' -a run -d 'attempt the operations that are due'
complete -c drainq -n '__drainq_is ""' -a list -d 'list operations'
complete -c drainq -n '__drainq_is ""' -a show -d 'show operations with all their attempts'
complete -c drainq -n '__drainq_is ""' -a status -d 'show the status of the queue'
complete -c drainq -n '__drainq_is ""' -a log -d 'show what happened'
complete -c drainq -n '__drainq_is ""' -a retry -d 'make operations due again, with their attempts reset'
complete -c drainq -n '__drainq_is ""' -a drop -d 'remove operations from the queue for good'
complete -c drainq -n '__drainq_is ""' -a hold -d 'keep operations or a destination from being sent'
complete -c drainq -n '__drainq_is ""' -a release -d 'end holds of operations or destinations'
complete -c drainq -n '__drainq_is ""' -a pause -d 'stop all attempts'
complete -c drainq -n '__drainq_is ""' -a resume -d 'end a pause'
complete -c drainq -n '__drainq_is ""' -a export -d 'print complete operations'
complete -c drainq -n '__drainq_is ""' -a import -d 'import operations that drainq export has printed'
complete -c drainq -n '__drainq_is ""' -a check -d 'check the configuration and the queue directory'
complete -c drainq -n '__drainq_is ""' -a explain -d 'explain what an answer means, and by which rule'
complete -c drainq -n '__drainq_is ""' -a demo -d 'drain a sample queue into an embedded receiver'
complete -c drainq -n '__drainq_is ""' -a receive -d 'receive requests on the loopback interface'
complete -c drainq -n '__drainq_is ""' -a completions -d 'print completions for a shell'
complete -c drainq -n '__drainq_is ""' -a manual -d 'print this manual'
complete -c drainq -n '__drainq_is ""' -a schema -d 'print a JSON Schema of the configuration'
complete -c drainq -n '__drainq_is ""' -a version -d 'print the version'
complete -c drainq -n '__drainq_is ""' -a help -d 'explain a command'
complete -c drainq -n '__drainq_is init' -l url -x -d 'the URL of the default route'
complete -c drainq -n '__drainq_is init' -l example -x -d 'begin with the configuration of a service'
complete -c drainq -n '__drainq_is add send' -s t -l type -x -a '(__drainq_queue type list --limit 1000)' -d 'the type, which chooses the route'
complete -c drainq -n '__drainq_is add send' -l key -x -d 'the sequence key, for order and coalescing'
complete -c drainq -n '__drainq_is add send' -l url -x -d 'send to this URL instead of the route\'s'
complete -c drainq -n '__drainq_is add send' -l method -x -d 'send with this method instead of the route\'s'
complete -c drainq -n '__drainq_is add send' -s H -l header -x -d 'add a header field, \'Name: value\''
complete -c drainq -n '__drainq_is add send' -l content-type -x -d 'take the input as one body of this media type'
complete -c drainq -n '__drainq_is add send' -l body-file -r -F -d 'send this file as the body, streamed'
complete -c drainq -n '__drainq_is add send' -l expires -x -d 'fail at this time if not delivered'
complete -c drainq -n '__drainq_is add send' -l id -x -d 'the id, for a single operation'
complete -c drainq -n '__drainq_is add send' -l envelope -d 'each value is a whole operation with its fields'
complete -c drainq -n '__drainq_is add' -l delay -x -d 'make the operations due after this delay'
complete -c drainq -n '__drainq_is add' -l at -x -d 'make the operations due at this time'
complete -c drainq -n '__drainq_is add' -l wait -d 'wait until they are delivered or have failed'
complete -c drainq -n '__drainq_is add' -l timeout -x -d 'wait at most this long'
complete -c drainq -n '__drainq_is add import' -l atomic -d 'queue all operations or none'
complete -c drainq -n '__drainq_is add import' -l sync -x -a 'full none' -d 'durability of operations whose ids are printed'
complete -c drainq -n '__drainq_is send' -l no-queue -d 'do not queue the operation'
complete -c drainq -n '__drainq_is send' -l timeout -x -d 'the longest time of an attempt'
complete -c drainq -n '__drainq_is send' -l retry-within -x -d 'retry within this time'
complete -c drainq -n '__drainq_is send' -l fallback -x -d 'print this if the operation is not delivered'
complete -c drainq -n '__drainq_is send' -l select -x -d 'print this part of the answer'
complete -c drainq -n '__drainq_is wait' -l timeout -x -d 'wait at most this long'
complete -c drainq -n '__drainq_is run' -l limit -x -d 'attempt at most N operations'
complete -c drainq -n '__drainq_is run' -l concurrency -x -a 'auto' -d 'the most attempts in flight'
complete -c drainq -n '__drainq_is run' -l max-time -x -d 'claim no operation after this time'
complete -c drainq -n '__drainq_is run' -l grace -x -d 'the time for attempts in flight after a stop'
complete -c drainq -n '__drainq_is run' -l wait -x -d 'wait this long for operations to become due'
complete -c drainq -n '__drainq_is run' -l until-empty -d 'run until no operation waits'
complete -c drainq -n '__drainq_is run' -l now -d 'ignore due times, open breakers and conditions'
complete -c drainq -n '__drainq_is run' -s t -l type -x -a '(__drainq_queue type list --limit 1000)' -d 'attempt only this type'
complete -c drainq -n '__drainq_is run' -l destination -x -a '(__drainq_queue destination status)' -d 'attempt only operations for this destination'
complete -c drainq -n '__drainq_is run' -l rate -x -d 'begin attempts at most at this rate, such as 20/s'
complete -c drainq -n '__drainq_is run' -l fail-if-busy -d 'end at once if another run works on the queue'
complete -c drainq -n '__drainq_is run' -l stats -d 'report how the run spent its time'
complete -c drainq -n '__drainq_is run' -l progress -x -a 'auto always never' -d 'show the progress of the run'
complete -c drainq -n '__drainq_is run retry drop hold release' -s n -l dry-run -d 'print the changes without making them'
complete -c drainq -n '__drainq_is run show' -l request -d 'print the request as it would be sent now'
complete -c drainq -n '__drainq_is run show' -l curl -d 'print the request as a curl command'
complete -c drainq -n '__drainq_is list' -l limit -x -d 'show at most N operations'
complete -c drainq -n '__drainq_is status' -l prometheus -d 'print metrics for Prometheus'
complete -c drainq -n '__drainq_is status' -l watch -d 'repeat the status until interrupted'
complete -c drainq -n '__drainq_is status' -l interval -x -d 'time between two statuses, with --watch'
complete -c drainq -n '__drainq_is log' -s f -l follow -d 'wait for more until interrupted'
complete -c drainq -n '__drainq_is retry' -l rate -x -d 'make operations due at this rate, such as 20/s'
complete -c drainq -n '__drainq_is retry' -l as-newest -d 'also retry a value that a newer one of its key supersedes'
complete -c drainq -n '__drainq_is retry drop hold' -l all -d 'choose every operation'
complete -c drainq -n '__drainq_is retry drop hold release' -l limit -x -d 'change at most N operations, oldest first'
complete -c drainq -n '__drainq_is drop' -l followers -d 'also drop the operations held behind them'
complete -c drainq -n '__drainq_is hold' -l reason -x -d 'the reason that drainq status shows'
complete -c drainq -n '__drainq_is release' -l all -d 'release every destination and operation'
complete -c drainq -n '__drainq_is pause resume' -l destination -x -a '(__drainq_queue destination status)' -d 'only this destination'
complete -c drainq -n '__drainq_is export' -l all -d 'choose every operation'
complete -c drainq -n '__drainq_is export' -l to -r -F -d 'write to this new file'
complete -c drainq -n '__drainq_is export' -l then-drop -d 'then remove them from the queue'
complete -c drainq -n '__drainq_is import' -l replace -d 'replace operations that have the same id'
complete -c drainq -n '__drainq_is check' -l repair -d 'repair the queue directory'
complete -c drainq -n '__drainq_is explain' -s t -l type -x -a '(__drainq_queue type list --limit 1000)' -d 'explain the route of this type'
complete -c drainq -n '__drainq_is explain' -l answer -r -F -d 'explain the recorded answer in this file'
complete -c drainq -n '__drainq_is explain' -l key -x -d 'show which kept values this key has'
complete -c drainq -n '__drainq_is receive' -l port -x -d 'listen on this port'
complete -c drainq -n '__drainq_is receive' -l answer -x -d 'give this answer'
complete -c drainq -n '__drainq_is receive' -l count -x -d 'end after N requests'
complete -c drainq -n '__drainq_is receive' -l max-time -x -d 'end after this time'
complete -c drainq -n '__drainq_is receive' -l bodies -d 'print only bodies'
complete -c drainq -n '__drainq_is receive' -l url-file -r -F -d 'write the URL to this file'
complete -c drainq -n '__drainq_is list retry drop hold release export' -s t -l type -x -a '(__drainq_queue type list --limit 1000)' -d 'of this type'
complete -c drainq -n '__drainq_is log' -s t -l type -x -a '(__drainq_queue type list --limit 1000)' -d 'of this type'
complete -c drainq -n '__drainq_is list retry drop hold release export' -l key -x -d 'with this key'
complete -c drainq -n '__drainq_is log' -l id -x -d 'about this operation'
complete -c drainq -n '__drainq_is list retry drop hold release export' -l destination -x -a '(__drainq_queue destination status)' -d 'for this destination'
complete -c drainq -n '__drainq_is log' -l destination -x -a '(__drainq_queue destination status)' -d 'at this destination'
complete -c drainq -n '__drainq_is list retry drop hold release export' -l state -x -a 'new deferred claimed held failed quarantined delivered' -d 'in this state'
complete -c drainq -n '__drainq_is list retry drop hold release export' -l status -x -a 'dns refused unreachable connect-timeout timeout deadline reset empty-answer truncated malformed-answer tls proxy bad-url offline machine shortage body-file agent-died other CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED' -d 'by the answer to the last attempt'
complete -c drainq -n '__drainq_is list retry drop hold release export' -l since -x -d 'created at this time or later'
complete -c drainq -n '__drainq_is log' -l since -x -d 'from this time on'
complete -c drainq -n '__drainq_is list retry drop hold release export' -l before -x -d 'created before this time'
complete -c drainq -n '__drainq_is log' -l until -x -d 'before this time'
complete -c drainq -n '__drainq_is "" init add send wait run list show status log retry drop hold release pause resume export import check explain' -s q -l queue -x -a '(__fish_complete_directories)' -d 'the queue directory'
complete -c drainq -n '__drainq_is "" init add send wait run list show status log retry drop hold release pause resume export import check explain' -l config -r -F -d 'the configuration instead of drainq.json in the queue'
complete -c drainq -n '__drainq_is "" init add send wait run list show status log retry drop hold release pause resume export import check explain demo receive' -s v -l verbose -d 'report each step on standard error'
complete -c drainq -n '__drainq_is "" init add send wait run list show status log retry drop hold release pause resume export import check explain demo receive' -l quiet -d 'report only errors, even at a terminal'
complete -c drainq -n '__drainq_is "" add send wait run list show status log retry drop hold release import check explain receive' -l json -d 'print JSON, an object on each line'
complete -c drainq -n '__drainq_is "" init add send wait run list show status log retry drop hold release pause resume export import check explain demo receive completions manual schema version help' -s h -l help -d 'explain the command'
complete -c drainq -n '__drainq_is "" init add send wait run list show status log retry drop hold release pause resume export import check explain demo receive completions manual schema version help' -l version -d 'print the version'
complete -c drainq -n '__drainq_is add' -F
complete -c drainq -n '__drainq_is send' -F
complete -c drainq -n '__drainq_is wait' -a '(__drainq_queue id list --limit 100)'
complete -c drainq -n '__drainq_is run' -a '(__drainq_queue id list --limit 100 --state new --state deferred)'
complete -c drainq -n '__drainq_is show' -a '(__drainq_queue id list --limit 100)'
complete -c drainq -n '__drainq_is retry' -a '(__drainq_queue id list --limit 100 --state failed --state deferred --state held)'
complete -c drainq -n '__drainq_is drop' -a '(__drainq_queue id list --limit 100)'
complete -c drainq -n '__drainq_is hold' -a '(__drainq_queue id list --limit 100 --state new --state deferred)'
complete -c drainq -n '__drainq_is release' -a '(__drainq_queue id list --limit 100 --state held)'
complete -c drainq -n '__drainq_is export' -a '(__drainq_queue id list --limit 100)'
complete -c drainq -n '__drainq_is import' -F
complete -c drainq -n '__drainq_is explain' -a 'dns refused unreachable connect-timeout timeout deadline reset empty-answer truncated malformed-answer tls proxy bad-url offline machine shortage body-file agent-died other CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED'
complete -c drainq -n '__drainq_is completions' -a 'bash zsh fish'
complete -c drainq -n '__drainq_is manual' -a 'drainq drainq-json'
complete -c drainq -n '__drainq_is help' -a 'init add send wait run list show status log retry drop hold release pause resume export import check explain demo receive completions manual schema version help'
