import Policy

/// The result of an attempt that ends before it has begun.
struct CurlRefusal: Error {
    var result: AttemptReport.Result

    /// The refusal of a libcurl without memory.
    static var shortage: Self {
        Self(result: .failure(.shortage, detail: "libcurl has no memory for a transfer"))
    }
}
