// The limit of URLSession: POSTs a body of 1 KB so many times from one process, some at a time. No files.
//
//   urlsession URL COUNT CONCURRENCY

import Foundation
import FoundationNetworking
import Synchronization

/// Tasks that follow one another on each of several connections, until all have been sent.
final class Sender: Sendable {
    private let session: URLSession
    private let request: URLRequest
    private let left: Mutex<(toBegin: Int, toEnd: Int)>
    private let ended = DispatchSemaphore(value: 0)

    init(url: URL, count: Int, concurrency: Int) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = concurrency
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        session = URLSession(configuration: configuration)
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = Data(repeating: UInt8(ascii: "x"), count: 1024)
        self.request = request
        left = Mutex((count, count))
    }

    func begin() {
        let more = left.withLock { left in
            left.toBegin -= 1
            return left.toBegin >= 0
        }
        guard more else { return }
        session.dataTask(with: request) { _, response, error in
            guard (response as? HTTPURLResponse)?.statusCode == 204 else {
                fatalError("no 204: \(String(describing: error))")
            }
            let last = self.left.withLock { left in
                left.toEnd -= 1
                return left.toEnd == 0
            }
            if last { self.ended.signal() } else { self.begin() }
        }.resume()
    }

    func waitForAll() {
        ended.wait()
    }
}

let words = CommandLine.arguments
guard words.count == 4, let url = URL(string: words[1]), let count = Int(words[2]), let concurrency = Int(words[3])
else {
    exit(64)
}
let sender = Sender(url: url, count: count, concurrency: concurrency)
for _ in 0..<concurrency {
    sender.begin()
}
sender.waitForAll()
exit(0)
