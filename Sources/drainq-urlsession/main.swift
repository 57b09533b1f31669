import Delivery

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

// The delivery agent whose transport is URLSession. A program of its own, because FoundationNetworking makes a program that
// begins slowly: drainq itself has none of it.

if isatty(0) == 1 {
    let words = "drainq-urlsession: 'drainq run' starts it to deliver; by hand it does nothing\n"
    _ = write(2, words, words.utf8.count)
    exit(64)
}
DeliveryAgent.main { concurrency, report in
    URLSessionTransport(concurrency: concurrency, report: report)
}
