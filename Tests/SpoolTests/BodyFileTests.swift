import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

/// Bodies in files of their own, inside allowed directories.
struct BodyFileTests {
    let queue: TemporaryQueue
    let now = TemporaryQueue.now
    /// The real path of a directory with the allowed `root/`, and with files outside of `root/`.
    let outside: String
    let root: String

    init() throws {
        queue = try TemporaryQueue()
        // In the queue's own directory, which is removed at the end.
        outside = try #require(realpath(queue.path, nil).map { String(cString: $0) }) + "/files"
        root = outside + "/root"
        try FileManager.default.createDirectory(atPath: root + "/sub", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: outside + "/rootless", withIntermediateDirectories: true)
        for file in ["root/a", "root/sub/b", "secret", "rootless/c"] { try queue.put("12345", at: "files/" + file) }
    }

    func examine(_ path: String, roots: [String]? = nil) throws -> Result<BodyFile, BodyFileRefusal> {
        try queue.open().bodyFile(at: path, roots: roots ?? [root])
    }

    func file(_ path: String) throws -> BodyFile {
        try examine(path).get()
    }

    @Test func `a body file in an allowed directory has its real path, length, time, inode and digest`() throws {
        let file = try file(root + "/a")
        var status = stat()
        #expect(stat(root + "/a", &status) == 0)
        let modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
        #expect(
            file
                == BodyFile(
                    path: root + "/a", length: 5, modified: modified, inode: UInt64(status.st_ino),
                    changed: file.changed,
                    sha256: SHA256.hexadecimal(SHA256().digest(endingWith: Array("12345".utf8)[...]))))
        symlink(root, outside + "/link")
        symlink(root + "/sub", root + "/within")
        #expect(try self.file(outside + "/link/a") == file)
        #expect(try examine(root + "/a", roots: [outside + "/none", outside + "/link"]).get() == file)
        #expect(try examine(root + "/a", roots: ["/"]).get() == file)
        #expect(try self.file(root + "/within/../sub/b").path == root + "/sub/b")
    }

    @Test func `no path leads outside the roots: no link, no dots, no directory with the same beginning`() throws {
        symlink(outside, root + "/up")
        symlink(outside + "/secret", root + "/last")
        let cases: [(String, BodyFileRefusal)] = [
            (outside + "/secret", .outside(outside + "/secret")), (root + "/up/secret", .outside(outside + "/secret")),
            (root + "/../secret", .outside(outside + "/secret")),
            (root + "/up/rootless/c", .outside(outside + "/rootless/c")),
            (outside + "/rootless/c", .outside(outside + "/rootless/c")), (root + "/last", .notAFile(.symbolicLink)),
            (root, .notAFile(.directory)), (root + "/none", .missing), (root + "/a/b", .missing),
            ("a", .notAbsolute), ("", .notAbsolute), (root + "/a\0b", .notAbsolute),
            (root + "/" + String(repeating: "n", count: 300), .notReadable(Errno(ENAMETOOLONG))),
            ("/dev/null", .notAFile(.other)),
        ]
        for (path, refusal) in cases { #expect(try examine(path) == .failure(refusal)) }
        #expect(try examine(root + "/a", roots: []) == .failure(.noRoots))
        #expect(BodyFileRefusal.noRoots.description.contains("'bodyFiles'"))
        let words = cases.map(\.1.description)
        #expect(words.allSatisfy { !$0.isEmpty } && Set(words).count == Set(cases.map(\.1)).count)
    }

    @Test func `a file below a directory that is away is not to blame, and a file missing in one that is there is`()
        throws
    {
        symlink(root, outside + "/link")
        let file = try file(root + "/a")
        let (moved, other) = (outside + "/away", outside + "/rootless")
        let directory = try queue.open()
        func refusal(_ roots: [String]) -> BodyFileRefusal? {
            if case .failure(let refusal) = directory.current(file, roots: roots) { refusal } else { nil }
        }
        try FileManager.default.moveItem(atPath: root, toPath: moved)
        // The file has its real path, and the configuration may name the directory by a link.
        for (roots, away) in [([root], root), ([other, root], root), ([outside + "/link"], outside + "/link")] {
            #expect(refusal(roots) == .rootAway(away, Errno(ENOENT)))
            #expect(refusal(roots)?.fault == Errno(ENOENT))
        }
        #expect(refusal([other]) == .missing && refusal([outside, other + "/none"]) == .missing)
        #expect(try examine(outside + "/secret", roots: [root]) == .failure(.outside(outside + "/secret")))
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
        #expect(refusal([root]) == .missing && BodyFileRefusal.missing.fault == nil)
        try FileManager.default.removeItem(atPath: root)
        try FileManager.default.moveItem(atPath: moved, toPath: root)
        #expect(refusal([root]) == nil)
    }

    @Test func `a file with content and no size is refused, and an empty file is not`() throws {
        #expect(try examine("/proc/self/status", roots: ["/proc"]) == .failure(.withoutSize))
        try Data().write(to: URL(filePath: root + "/empty"))
        #expect(try examine(root + "/empty").get().length == 0)
    }

    @Test(arguments: [0, 1, 63, 64, 262_143, 262_144, 262_145, 600_000])
    func `the digest is that of the whole content`(length: Int) throws {
        let content = (0..<length).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try Data(content).write(to: URL(filePath: root + "/long"))
        #expect(try file(root + "/long").sha256 == SHA256.hexadecimal(SHA256.hash(content)))
    }

    @Test func `a file that changes while it is read is refused`() throws {
        var system = SystemCalls.real
        let real = system
        system.read = { (descriptor, space, offset) throws(Errno) in
            if offset > 0 { try? Data("54321".utf8).write(to: URL(filePath: self.root + "/a"), options: []) }
            return try real.read(descriptor, space, offset)
        }
        var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1_700_000_000, tv_nsec: 1)]
        utimensat(AT_FDCWD, root + "/a", &times, 0)
        #expect(try queue.open(system).bodyFile(at: root + "/a", roots: [root]) == .failure(.changing))
    }

    @Test func `the examination waits for no FIFO, opens no device and reads no file that is untouched`() throws {
        mkfifo(root + "/fifo", 0o600)
        #expect(try examine(root + "/fifo") == .failure(.notAFile(.fifo)))
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset()
        #expect(open.bodyFile(at: "/dev/null", roots: [root]) == .failure(.notAFile(.other)))
        #expect(calls.log == ["statusAt"])
        let file = try open.bodyFile(at: root + "/a", roots: [root]).get()
        #expect(calls.log.contains("read"))
        calls.reset()
        #expect(open.current(file, roots: [root]) == .success(file))
        #expect(!calls.log.contains("read"))
    }

    @Test func `a body file swapped during the examination is refused`() throws {
        var system = SystemCalls.real
        let real = system
        let path = root + "/a"
        system.statusAt = { (directory, name) throws(Errno) in
            let status = try real.statusAt(directory, name)
            if String(cString: name) == path {
                unlink(path)
                symlink(self.outside + "/secret", path)
            }
            return status
        }
        #expect(try queue.open(system).bodyFile(at: path, roots: [root]) == .failure(.notAFile(.symbolicLink)))
        system = real
        system.realPath = { (descriptor) throws(Errno) in
            unlink(self.root + "/sub/b")
            return try real.realPath(descriptor)
        }
        system.status = { (descriptor) throws(Errno) in
            unlink(self.root + "/sub/b")
            return try real.status(descriptor)
        }
        let open = try queue.open(system)
        #expect(open.bodyFile(at: root + "/sub/b", roots: [root]) == .failure(.missing))
    }

    @Test func `a changed, replaced or removed body file is refused, and one with the same content is not`() throws {
        let open = try queue.open()
        let file = try file(root + "/a")
        #expect(open.current(file, roots: [root]) == .success(file))
        var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1_700_000_000, tv_nsec: 1)]
        utimensat(AT_FDCWD, file.path, &times, 0)
        let touched = try open.current(file, roots: [root]).get()
        #expect(touched.modified == 1_700_000_000_000_000_001 && touched.sha256 == file.sha256)
        // Other content, with the same length, inode and time of modification.
        let writing = try FileHandle(forWritingTo: URL(filePath: file.path))
        try writing.write(contentsOf: Data("54321".utf8))
        utimensat(AT_FDCWD, file.path, &times, 0)
        #expect(open.current(touched, roots: [root]) == .failure(.changed(length: 5, before: 5)))
        try writing.seek(toOffset: 0)
        try writing.write(contentsOf: Data("12345".utf8))
        // An operation of an older drainq has no digest.
        var old = file
        (old.changed, old.sha256) = (nil, nil)
        #expect(open.current(old, roots: [root]) == .failure(.changed(length: 5, before: 5)))
        for content in ["54321", "123456"] {
            try queue.put(content, at: "files/root/a2")
            utimensat(AT_FDCWD, root + "/a2", &times, 0)
            rename(root + "/a2", root + "/a")
            #expect(open.current(file, roots: [root]) == .failure(.changed(length: content.utf8.count, before: 5)))
        }
        unlink(root + "/a")
        #expect(open.current(file, roots: [root]) == .failure(.missing))
        try queue.put("12345", at: "files/root/a")
        let back = try open.current(file, roots: [root]).get()
        #expect(back.sha256 == file.sha256 && back.modified != file.modified)
        let b = try self.file(root + "/sub/b")
        #expect(open.current(b, roots: [outside + "/rootless"]) == .failure(.outside(b.path)))
        // Another path to the same file.
        symlink(root + "/sub", root + "/within")
        var other = b
        other.path = root + "/within/b"
        #expect(open.current(other, roots: [root]) == .success(other))
    }

    @Test(arguments: [EIO, EMFILE])
    func `a system error is reported as a system error`(code: Int32) throws {
        for call in ["open", "status", "statusAt", "realPath"] {
            let calls = InterceptedCalls()
            let open = try queue.open(calls.calls)
            calls.reset(.always(call, code))
            #expect(open.bodyFile(at: root + "/a", roots: [root]) == .failure(.system(Errno(code))))
        }
        for index in 1... {
            let calls = InterceptedCalls()
            let open = try queue.open(calls.calls)
            let standing = calls.descriptors
            calls.reset(.error(code, at: index))
            let result = open.bodyFile(at: root + "/a", roots: [root])
            #expect(calls.descriptors == standing)
            if calls.count < index {
                #expect(throws: Never.self) { try result.get() }
                break
            }
            #expect(result == .failure(.system(Errno(code))))
        }
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset(.always("open", EACCES))
        #expect(open.bodyFile(at: root + "/a", roots: [root]) == .failure(.notReadable(Errno(EACCES))))
    }

    // MARK: - In files

    @Test func `a header keeps path, length, time and any inode of a body file`() throws {
        var operation = queue.operation("a", body: "")
        operation.header.bodyFile = BodyFile(path: "/x/\u{1}\"ü", length: 7, modified: -5, inode: .max)
        let bytes = OperationFile.encode(operation)
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(
            text.contains(
                #""bodyFile":{"path":"/x/\u0001\"ü","length":7,"modified":-5,"inode":18446744073709551615},"length":0,"#
            ))
        #expect(try OperationFile.decode(bytes, file: "f") == operation)
        operation.header.bodyFile?.sha256 = String(repeating: "0a", count: 32)
        #expect(try OperationFile.decode(OperationFile.encode(operation), file: "f") == operation)
    }

    @Test(arguments: [
        (#""bodyFile":"/x","length":0}"#, "\n"), (#""bodyFile":{"path":"/x"},"length":0}"#, "\n"),
        (#""bodyFile":{"path":"x","length":0,"modified":0,"inode":0},"length":0}"#, "\n"),
        (#""bodyFile":{"path":"/x","length":-1,"modified":0,"inode":0},"length":0}"#, "\n"),
        (#""bodyFile":{"path":"/x","length":0,"modified":0,"inode":0,"sha256":"0A"},"length":0}"#, "\n"),
        (#""bodyFile":{"path":"/x","length":1,"modified":1.5,"inode":0},"length":0}"#, "\n"),
        (#""bodyFile":{"path":"/x","length":1,"modified":0,"inode":-1},"length":0}"#, "\n"),
        (#""bodyFile":{"path":"/x","length":1,"modified":0,"inode":1},"length":2}"#, "{}\n"),
    ])
    func `a header with an incomplete body file, or with a body as well, is refused`(fields: String, body: String) {
        let text = #"{"drainq":1,"id":"a","createdAt":"2026-01-01T00:00:00Z","# + fields + "\n" + body
        let error = #expect(throws: OperationFileError.self) { try OperationFile.decode(Array(text.utf8), file: "f") }
        #expect(error?.field == "bodyFile")
    }

    @Test func `a dropped file names a body file by path, or with length, time and inode`() throws {
        let file = try file(root + "/a")
        let object =
            #"{"path":"\#(file.path)","length":\#(file.length),"modified":\#(file.modified),"inode":\#(file.inode)}"#
        try queue.put(#"{"drainq":1,"id":"path","bodyFile":"\#(root)/sub/../a"}"#, at: "new/1")
        try queue.put(#"{"drainq":1,"id":"object","bodyFile":\#(object),"contentType":"x/y"}"#, at: "new/2")
        let run = try queue.open().beginRun(now: now)
        let admission = try run.admitForeign(now: now, limits: Limits(), bodyFileRoots: [root])
        #expect(admission.errors.isEmpty && admission.quarantined.isEmpty)
        for (id, mediaType) in [("path", "application/octet-stream"), ("object", "x/y")] {
            let entry = try #require(admission.admitted.first { $0.name.id.description == id })
            guard case .operation(let stored) = try queue.open().read(entry) else { throw Errno(0) }
            #expect(stored.operation.header.bodyFile?.inode == file.inode && stored.operation.body.isEmpty)
            #expect(stored.operation.header.contentType == mediaType)
        }
    }

    @Test func `a dropped file with an invalid body file goes to quarantine with the reason`() throws {
        let file = try file(root + "/a")
        let old = #"{"path":"\#(file.path)","length":4,"modified":\#(file.modified),"inode":\#(file.inode)}"#
        let cases = [
            (#""bodyFile":"\#(outside)/secret""#, BodyFileRefusal.outside(outside + "/secret").description),
            (#""bodyFile":"a""#, "is not an absolute path"),
            (#""bodyFile":\#(old)"#, "has changed since it was added: it had 4 bytes, and has 5 now"),
            (#""bodyFile":5"#, "expected an object with path (absolute), length, modified and inode"),
            (#""payload":5,"bodyFile":"/a""#, "only one of payload, body, bodyBase64 and bodyFile"),
        ]
        for (index, (field, _)) in cases.enumerated() { try queue.put("{\"drainq\":1,\(field)}", at: "new/\(index)") }
        let run = try queue.open().beginRun(now: now)
        let admission = try run.admitForeign(now: now, limits: Limits(), bodyFileRoots: [root])
        #expect(
            admission.quarantined.compactMap(\.reason).sorted() == cases.map { "field 'bodyFile': \($0.1)" }.sorted())
        #expect(admission.admitted.isEmpty && admission.errors.isEmpty)
        try queue.put(#"{"drainq":1,"bodyFile":"\#(root)/a"}"#, at: "new/x")
        #expect(
            try run.admitForeign(now: now, limits: Limits()).quarantined.map(\.reason) == [
                "field 'bodyFile': \(BodyFileRefusal.noRoots)"
            ])
    }

    @Test func `a system error during the examination of a body file leaves the dropped file in new`() throws {
        let file = try file(root + "/a")
        let object = #"{"path":"\#(file.path)","length":5,"modified":\#(file.modified),"inode":\#(file.inode)}"#
        for value in ["\"\(root)/a\"", object] {
            try queue.put(#"{"drainq":1,"bodyFile":\#(value)}"#, at: "new/x")
            let calls = InterceptedCalls()
            let run = try queue.open(calls.calls).beginRun(now: now)
            calls.reset(.always("realPath", EMFILE))
            let admission = try run.admitForeign(now: now, limits: Limits(), bodyFileRoots: [root])
            #expect(admission.errors.map(\.code) == [EMFILE] && admission.quarantined.isEmpty)
            #expect(queue.names("new") == ["x"])
            calls.reset()
            try run.end()
        }
    }

    // MARK: - Strangers

    /// System calls for which every regular file belongs to a stranger. Directories keep their owners.
    private var withStrangers: SystemCalls {
        var system = SystemCalls.real
        let real = system
        system.status = { (descriptor) throws(Errno) in
            var status = try real.status(descriptor)
            if status.kind == .regular { status.owner = 4242 }
            return status
        }
        return system
    }

    @Test func `a stranger may submit an operation, but may not name a body file`() throws {
        try queue.put("5", at: "new/plain")
        try queue.put(#"{"drainq":1,"bodyFile":"\#(root)/a"}"#, at: "new/path")
        let file = try file(root + "/a")
        let object = #"{"path":"\#(file.path)","length":5,"modified":\#(file.modified),"inode":\#(file.inode)}"#
        try queue.put(#"{"drainq":1,"bodyFile":\#(object)}"#, at: "new/object")
        let run = try queue.open(withStrangers).beginRun(now: now)
        let admission = try run.admitForeign(now: now, limits: Limits(), bodyFileRoots: [root])
        #expect(admission.admitted.count == 1 && admission.errors.isEmpty)
        #expect(
            admission.quarantined.map(\.reason) == [
                "field 'bodyFile': \(BodyFileRefusal.notTheirs)", "field 'bodyFile': \(BodyFileRefusal.notTheirs)",
            ])
    }

    @Test func `a stranger's canonical file goes to quarantine, and retry works once a trusted user owns the file`()
        throws
    {
        let entry = try queue.add(["a"])[0]
        let run = try queue.open(withStrangers).beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        guard case .notAnOperation(let reason) = try run.read(claim) else { throw Errno(0) }
        #expect(reason == "it belongs to user 4242, not to the queue's owner, root or the user that runs drainq")
        guard
            case .quarantined(let item) = try run.settle(
                claim, .quarantined(reason: reason), record: nil, now: now)
        else { throw Errno(0) }
        try run.end()
        #expect(try queue.open().retry(item, now: now))
        let other = try queue.open().beginRun(now: now)
        guard case .operation = try other.read(#require(try other.claim(entry))) else {
            throw Errno(0)
        }
    }

    @Test func `every run trusts the owner of the queue`() throws {
        let entry = try queue.add(["a"])[0]
        var system = SystemCalls.real
        let real = system
        system.status = { (descriptor) throws(Errno) in
            var status = try real.status(descriptor)
            status.owner = 4242
            return status
        }
        system.user = { 4711 }
        let run = try queue.open(system).beginRun(now: now)
        guard case .operation = try run.read(#require(try run.claim(entry))) else { throw Errno(0) }
    }
}
