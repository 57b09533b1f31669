import CFoundationCurl
import CSystem
import Delivery

// The delivery agent whose transport is URLSession. It is a separate program, because FoundationNetworking makes a
// program slow to start; drainq itself does not link it.

if isatty(0) == 1 {
    let words = "drainq-urlsession: 'drainq run' starts it to deliver; by hand it does nothing\n"
    _ = write(2, words, words.utf8.count)
    exit(64)
}
// An answer is cut long before this limit. Each core may have a thread with a stack of 8 MB, which counts.
DeliveryAgent.main(memoryLimit: 256 << 20 + UInt(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) << 23) {
    concurrency, report throws(UnavailableTransport) in
    if let defect = URLSessionTransport.defect { throw UnavailableTransport(reason: defect) }
    return URLSessionTransport(concurrency: concurrency, report: report)
}
