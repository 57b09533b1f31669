import Foundation
import LoopbackReceiver
import Testing

struct PathTests {
    @Test func `a queue path that is not text names its exact directory`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq()
        let configuration =
            "{ routes: { default: { url: \"\(receiver.url)/\", headers: { x: \"${secret:s}\" } } }, secrets: { s: { file: \"secret\" } } }"
        let finished = try drainq.shell(
            """
            q=$'na\\xffme'; mkdir other$'\\xef\\xbf\\xbd'
            drainq init -q "$q" && echo '\(configuration)' >"$q/drainq.json"
            (umask 077; echo 1 >"$q/secret")
            echo 1 | drainq add --queue "$q"; echo 2 | DRAINQ_QUEUE=$q drainq add; echo 3 >$'f\\xfe'
            drainq add -q "$q" $'f\\xfe'; ls "$q/new" | wc -l
            drainq run "--queue=$q"; echo "run $?"
            drainq list -q $'na\\xfeme' 2>&1
            printf '%s\\n' na*me | od -An -c
            """)
        #expect(finished.lines.contains("run 0"), "\(finished.output) \(finished.error)")
        #expect(finished.output.contains(#"na\xfeme"#))
        #expect(finished.lines.last?.split(separator: " ") == ["n", "a", "377", "m", "e", #"\n"#])
        #expect(receiver.requests().map(\.text).sorted() == ["1", "2", "3"])
        #expect(receiver.requests().allSatisfy { $0.header("x") == "1" })
    }

    @Test func `a hook gets a queue path that is not text, and no variable for an absent destination`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq()
        let finished = try drainq.shell(
            """
            q=$'na\\xff\\n\\e[1mme'
            drainq init -q "$q"
            printf '%s\\n' "'$DRAINQ' status --json; echo \\$? \\${DRAINQ_DESTINATION-absent}" >hook
            echo '{ routes: { default: { url: "\(receiver.url)/" } }, hooks: { ended: ["sh", "-c", ". ../hook >../told"] } }' \
              >"$q/drainq.json"
            echo 1 | drainq add --queue "$q"; drainq run --queue "$q"; tail -n 1 told
            """)
        #expect(finished.lines.last == "0 absent", "\(finished.output) \(finished.error)")
    }

    @Test func `a pipe in the place of drainq.json is an error, and a pipe given to --config is read`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq()
        let finished = try drainq.shell(
            """
            echo 1 | drainq add -q queue; rm -f queue/drainq.json; mkfifo queue/drainq.json
            for command in run list add send status check; do drainq $command -q queue </dev/null >/dev/null 2>>said; echo $?; done
            drainq run -q queue --config <(echo '{ routes: { default: { url: "\(receiver.url)/" } } }'); echo $?
            grep -c "drainq.json': it is not a regular file" said
            """)
        #expect(finished.lines.dropFirst() == ["78", "0", "78", "78", "0", "78", "0", "5"], "\(finished.error)")
        #expect(receiver.receivedCount == 1)
    }
}
