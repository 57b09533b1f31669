import Foundation

/// What libFuzzer calls, compiled into one module with the sources that it fuzzes (`fuzz.py`). `FUZZ_TARGET` names the
/// row of `targets` that gets the bytes.
@_cdecl("LLVMFuzzerTestOneInput")
public func test(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

private let target: @Sendable ([UInt8]) -> Void = {
    let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? ""
    guard let target = targets[name] else { fatalError("there is no target '\(name)'") }
    return target
}()

private let targets: [String: @Sendable ([UInt8]) -> Void] = [
    "json": json, "pointer": pointer, "name": name, "file": file, "envelope": envelope, "configuration": configuration,
    "time": time, "frame": frame, "redirect": redirect, "display": display,
    "template": template, "quantity": quantity, "state": state,
]

private let now = Timestamp(rfc3339: "2026-11-21T09:15:00Z")!

/// What clocks may show.
private let clocks = [Int64.min, -1, 0, now.microseconds, .max].map { Timestamp(microseconds: $0) }

/// Chance that is the same in each execution.
private struct Chance: RandomNumberGenerator {
    var state: UInt64 = 1
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
    }
}

/// A property that does not hold ends the process; its words are what the finding is called.
private func expect(_ holds: Bool, _ words: @autoclosure () -> String) {
    if !holds { fatalError(words()) }
}

/// What Foundation takes for JSON is taken, and what is taken is JSON to Foundation, but for numbers and halves of
/// surrogate pairs that it does not represent. A value that is printed is the same value again.
@Sendable private func json(_ bytes: [UInt8]) {
    let value = try? JSONValue(bytes)
    if let value {
        let again = try? JSONValue(Array(value.description.utf8))
        expect(again == value, "a value is another one when it is printed")
    }
    // These are other encodings to Foundation.
    guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0), bytes.first != 0xEF else { return }
    let isTheirs =
        (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
    let hasOddities = bytes.contains(UInt8(ascii: "\\")) || bytes.contains(where: { "eE".utf8.contains($0) })
    // Foundation takes a comma behind the last element.
    let hasLastComma = String(decoding: bytes, as: UTF8.self).contains(/,\s*[}\]]/)
    if isTheirs, !hasLastComma { expect(value != nil, "Foundation takes it") }
    if value != nil, !hasOddities, bytes.count < 300 { expect(isTheirs, "Foundation does not take it") }
}

/// A pointer and its text are each other's inverse, and its tokens are what RFC 6901 cuts at each slash, by code points.
/// In a document it leads to what its tokens name.
@Sendable private func pointer(_ bytes: [UInt8]) {
    let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    guard let text = String(validating: parts[0], as: UTF8.self) else { return }
    let pointer = JSONPointer(text)
    expect(pointer.map { Array($0.tokens.map { Array($0.utf8) }) } == tokens(of: parts[0]), "tokens differ: \(text)")
    guard let pointer else { return }
    expect(pointer.description.utf8.elementsEqual(text.utf8), "a pointer is not its text: \(text)")
    if parts.count == 2, let document = try? JSONDocument(Array(parts[1])), let range = document.range(at: pointer) {
        expect((try? JSONValue(Array(document.bytes[range]))) != nil, "what is pointed at is no value")
    }
}

/// RFC 6901 §3 and §4, on bytes: `/`, `~` and digits are themselves wherever they stand in UTF-8.
private func tokens(of text: ArraySlice<UInt8>) -> [[UInt8]]? {
    if text.isEmpty { return [] }
    guard text.first == UInt8(ascii: "/") else { return nil }
    var tokens: [[UInt8]] = []
    for part in text.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
        var token: [UInt8] = []
        var isEscaped = false
        for byte in part {
            switch (isEscaped, byte) {
            case (true, UInt8(ascii: "0")): token.append(UInt8(ascii: "~"))
            case (true, UInt8(ascii: "1")): token.append(UInt8(ascii: "/"))
            case (true, _): return nil
            case (false, UInt8(ascii: "~")): break
            case (false, _): token.append(byte)
            }
            isEscaped = !isEscaped && byte == UInt8(ascii: "~")
        }
        if isEscaped { return nil }
        tokens.append(token)
    }
    return tokens
}

/// A name that is read is written the same, and leads nowhere but into its directory.
@Sendable private func name(_ bytes: [UInt8]) {
    guard let name = bytes.withUnsafeBufferPointer({ EntryName($0) }) else { return }
    expect(name.description.utf8.elementsEqual(bytes), "a name is another one when it is written: \(name)")
    expect(EntryName(name.description) == name, "a name is not what it was: \(name)")
    expect(!bytes.contains(UInt8(ascii: "/")) && bytes.allSatisfy { 0x21...0x7E ~= $0 }, "a name leads elsewhere")
}

/// An operation that is read from its file is the same when its own file is read, and none when a bit of header or body is
/// another one.
@Sendable private func file(_ bytes: [UInt8]) {
    guard var operation = try? OperationFile.decode(bytes, file: "f") else { return }
    expect((try? OperationFile.decode(OperationFile.encode(operation), file: "f")) == operation, "another operation")
    operation.attempts = []
    var flipped = OperationFile.encode(operation)
    let bit = bytes.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF_FFFF } % (flipped.count * 8)
    flipped[bit / 8] ^= 1 << UInt8(bit % 8)
    expect((try? OperationFile.decode(flipped, file: "f")) == nil, "a flipped bit is not seen")
}

/// What is accepted is written to a file that is read as the same, payload and all.
@Sendable private func envelope(_ bytes: [UInt8]) {
    guard let range = try? JSONDocument(bytes).range else { return }
    let defaults = Envelope.Defaults(id: OperationID("default")!, createdAt: now)
    do throws(OperationFileError) {
        let (operation, _) = try Envelope.operation(from: bytes, in: range, file: "f", defaults: defaults)
        let written = OperationFile.encode(operation)
        if OperationFile.encode(operation.header, length: operation.body.count).count <= OperationFile.headerLimit {
            expect((try? OperationFile.decode(written, file: "f")) == operation, "another operation")
        }
    } catch {
        let isPrintable = error.detail.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
        expect(isPrintable, "an error that cannot be printed")
    }
}

/// What is JSON is JSON5 too, and each error says where it is.
@Sendable private func configuration(_ bytes: [UInt8]) {
    do throws(ConfigurationErrors) {
        compute(with: try ConfigurationFile.read(bytes, name: "drainq.json", directory: "/etc"))
    } catch {
        expect(!error.errors.isEmpty, "an error that says nothing")
        expect(error.errors.allSatisfy { $0.description.hasPrefix("drainq.json:") }, "an error without a place")
    }
    if let range = try? JSONDocument(bytes).range, bytes.count < 200, bytes[range.lowerBound] == UInt8(ascii: "{") {
        expect((try? JSON5Parser.value(of: bytes)) != nil, "JSON that is no JSON5")
    }
}

/// Whatever numbers a configuration has, the next attempt is not before now, and nothing traps.
private func compute(with configuration: Configuration) {
    var chance = Chance()
    _ = configuration.defaultRoute.longestDelay(asked: .zero)
    for route in [configuration.defaultRoute] + configuration.routes.values.prefix(2) {
        for isRateLimited in [false, true] {
            let bounds = route.bounds(isRateLimited: isRateLimited)
            _ = bounds.attemptsAllowed
            let schedule = bounds.schedule
            for attempt in [Int.min, 1, 2, 9999, .max] {
                expect(schedule.delay(afterAttempt: attempt) >= .zero, "a delay that is negative")
                for (clock, begin) in zip(clocks, clocks.reversed()) {
                    let next = schedule.next(
                        afterAttempt: attempt, ageBegins: begin, now: clock, atLeast: .seconds(1), using: &chance)
                    if case .attempt(let due) = next { expect(due >= clock, "an attempt in the past") }
                }
            }
        }
    }
    for settings in [DestinationSettings()] + configuration.destinations.values.prefix(2) {
        use(settings, DestinationState())
    }
}

/// Everything that a destination can meet, by any clock.
private func use(_ settings: DestinationSettings, _ state: DestinationState) {
    let refusal = DestinationEvent.retryAfter(until: Timestamp(microseconds: .max))
    let events: [DestinationEvent] = [
        .unreachable("dns"), refusal, .failed(status: 400), .held(reason: "401", blamed: nil), .probed,
        .delivered(began: Timestamp(microseconds: 0)), .disproved(began: Timestamp(microseconds: 0)), .released,
    ]
    for clock in clocks {
        var state = state
        for event in events {
            _ = state.availability(settings, at: clock)
            state.apply(event, settings, at: clock)
        }
    }
    for coolDowns in [0, 1, 63, Int.max] {
        let length = DestinationState.coolDown(after: coolDowns, settings)
        expect(length >= .zero && length <= settings.coolDown, "a cool-down of \(length)")
    }
}

/// What is read as a quantity is read again as the same from what is written for it, and no sum of it with a time traps.
@Sendable private func quantity(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self) else { return }
    if let duration = Duration(quantity: text) {
        expect(Duration(quantity: duration.quantity) == duration, "another duration: \(text)")
        expect(duration >= .zero, "a negative duration: \(text)")
        _ = clocks.map { ($0 + duration, $0 - duration) }
        expect(Pace(interval: duration).wait(at: duration) >= .zero, "a wait that is negative")
    }
    if let size = ByteCount(quantity: text) {
        expect(ByteCount(quantity: size.quantity) == size && size.bytes >= 0, "another size: \(text)")
    }
    if let rate = Rate(quantity: text) { expect(Rate(quantity: rate.quantity) == rate, "another rate: \(text)") }
    for direction in [PointInTime.Direction.past, .future] {
        guard let point = PointInTime(quantity: text, direction: direction) else { continue }
        for clock in clocks { _ = point.timestamp(now: clock).rfc3339 }
    }
}

/// What runs remember, whatever has become of the file: it is read as the same when it is written, and used by any clock.
@Sendable private func state(_ bytes: [UInt8]) {
    func again<Value: Codable & Equatable>(_ type: Value.Type) -> Value? {
        guard let value = try? JSONDecoder().decode(type, from: Data(bytes)) else { return nil }
        let written = try? JSONEncoder().encode(value)
        expect(written.flatMap { try? JSONDecoder().decode(type, from: $0) } == value, "another \(type)")
        return value
    }
    if var ledger = again(DestinationLedger.self) {
        for state in ledger.destinations.values.prefix(4) { use(DestinationSettings(), state) }
        for clock in clocks { ledger.forgetStale(at: clock) }
    }
    for clock in clocks {
        if var reports = again(ReportLedger.self) {
            _ = (reports.takeDueMail(at: clock), reports.takeDue(by: Hooks(), at: clock))
        }
    }
}

/// A time that is read is the same when it is written; a wait that a server asks for is from nothing to a day.
@Sendable private func time(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self) else { return }
    if let time = Timestamp(rfc3339: text) {
        expect(Timestamp(rfc3339: time.rfc3339) == time, "another time: \(text)")
    }
    if let time = Timestamp(compact: text) {
        expect(time.compactMicroseconds.utf8.count == 23, "a time that no name has room for: \(text)")
    }
    let lines = text.split(separator: "\n", maxSplits: 1).map(String.init)
    let (value, date) = (lines.first ?? "", lines.dropFirst().first)
    for asked in [RetryAfter.parse(value, date: date, now: now), AnswerTime.parse(value, date: date, now: now)] {
        expect(asked.map { $0 >= .zero && $0 <= RetryAfter.longest } ?? true, "a wait of \(asked!)")
    }
}

/// A frame that is read is the same when it is written, in whatever pieces it comes.
@Sendable private func frame(_ bytes: [UInt8]) {
    if let frame = try? Frame(payload: bytes[...]), let written = frame.bytes {
        expect((try? Frame(payload: written.dropFirst(4))) == frame, "another frame")
    }
    func read(_ pieces: [ArraySlice<UInt8>]) -> [Frame] {
        var buffer = FrameBuffer(longest: 1 << 20)
        var found: [Frame] = []
        for piece in pieces {
            buffer.append(piece)
            do throws(FrameError) {
                while let frame = try buffer.next() { found.append(frame) }
            } catch {
                return found
            }
        }
        return found
    }
    expect(read(bytes.indices.map { bytes[$0...$0] }) == read([bytes[...]]), "pieces make other frames")
}

/// A redirect stays where it came from, and makes a URL that can be requested.
@Sendable private func redirect(_ bytes: [UInt8]) {
    guard let location = String(validating: bytes, as: UTF8.self) else { return }
    let base = "https://api.example.com:8443/a/b?c"
    let answer = AttemptReport.Answer(status: 307, headers: [HeaderField(name: "Location", value: location)], body: [])
    guard let target = Redirect.target(of: answer, from: base) else { return }
    expect(Origin(url: target) == Origin(url: base), "it leads elsewhere: \(target)")
    expect(target.utf8.allSatisfy { 0x21...0x7E ~= $0 }, "it is no URL: \(target)")
    expect(
        URL(string: target)?.host() == "api.example.com" && URL(string: target)?.port == 8443, "Foundation: \(target)")
}

/// What is kept of an answer is short and one line that steers nothing.
@Sendable private func display(_ bytes: [UInt8]) {
    guard let text = excerpt(of: bytes) else { return }
    expect(text.unicodeScalars.count <= 200, "too long")
    expect(escapedForDisplay(text).utf8.elementsEqual(text.utf8), "it is not clean")
    expect(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }, "it has controls")
}

/// Before a zero byte a template, behind it the payload: whatever they are, a body is JSON, a url stays within its host, and
/// a header is one line.
@Sendable private func template(_ bytes: [UInt8]) {
    let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    guard let text = String(validating: parts[0], as: UTF8.self) else { return }
    let header = OperationHeader(
        id: OperationID("x")!, createdAt: now, contentType: "application/json", key: "k/\u{1F}\"{")
    let operation = Operation(header: header, body: parts.count == 2 ? Array(parts[1]) : Array("{}".utf8))
    let secrets = SecretValues(values: ["s": "a\"/b"])
    func made(_ route: Route) -> OutgoingRequest? {
        guard route.problems.isEmpty else { return nil }
        return try? RequestForm(route).request(for: operation, attempt: 1, version: "1", secrets: secrets)
    }
    if !text.isEmpty, let request = made(Route { ($0.url, $0.body) = ("https://h/", text) }) {
        expect((try? JSONDocument(request.body ?? [])) != nil, "a body that is no JSON: \(text)")
    }
    if let request = made(Route { $0.url = "https://h/" + text }) {
        expect(request.url.hasPrefix("https://h/"), "another host: \(text)")
        expect(request.url.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != 0x22 && $0 != 0x7B }, "no url: \(text)")
    }
    let field = HeaderField(name: "X", value: text)
    if field.defect == nil, let request = made(Route { ($0.url, $0.headers) = ("https://h/", [field]) }) {
        expect(request.headers.allSatisfy { $0.value.utf8.allSatisfy { $0 >= 0x20 || $0 == 9 } }, "two lines: \(text)")
    }
}
