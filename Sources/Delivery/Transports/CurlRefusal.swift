import Policy

/// The result of an attempt that ends before it has begun.
struct CurlRefusal: Error {
    var result: AttemptReport.Result
}
