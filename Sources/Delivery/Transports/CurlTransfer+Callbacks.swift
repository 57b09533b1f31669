import CCurl
import CSystem
import Policy

/// The functions through which libcurl calls a transfer.
extension CurlTransfer {
    /// Makes the functions of the handle call this transfer.
    func setCallbacks() {
        let this = Unmanaged.passUnretained(self).toOpaque()
        for option in [
            CURLOPT_PRIVATE, CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA,
            CURLOPT_XFERINFODATA,
        ] { ccurl_set_pointer(handle, option, this) }
        guard Libcurl.hasConnectionHooks else { return }
        ccurl_set_pointer(handle, CURLOPT_SOCKOPTDATA, this)
        ccurl_set_pointer(handle, CURLOPT_PREREQDATA, this)
        // Sockets outlive the transfer that opens them.
        ccurl_set_pointer(handle, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(sockets).toOpaque())
    }

    /// Sets the functions of a handle, which call the transfer that has the handle.
    static func setFunctions(of handle: OpaquePointer) {
        ccurl_set_data_function(handle, CURLOPT_READFUNCTION) { space, size, count, this in
            CurlTransfer.at(this).give(UnsafeMutableRawBufferPointer(start: space, count: size * count))
        }
        ccurl_set_seek_function(handle) { this, offset, origin in
            guard origin == SEEK_SET else { return 1 }
            CurlTransfer.at(this).sent = Int(offset)
            return 0
        }
        ccurl_set_data_function(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, this in
            CurlTransfer.at(this).takeLine(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        ccurl_set_data_function(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, this in
            CurlTransfer.at(this).takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        ccurl_set_progress_function(handle) { this, _, received, _, sent in
            CurlTransfer.at(this).note(received + sent) ? 0 : 1
        }
        ccurl_set_number(handle, CURLOPT_NOPROGRESS, 0)
        guard Libcurl.hasConnectionHooks else { return }
        ccurl_set_opened_function(handle) { this, descriptor, _ in
            CurlTransfer.at(this).noteOpened(descriptor)
            return 0
        }
        ccurl_set_close_function(handle) { sockets, descriptor in
            CurlTransfer.sockets(sockets).close(descriptor)
        }
        ccurl_set_prerequest_function(handle) { this, remote, local, remotePort, localPort in
            let isAllowed = CurlTransfer.at(this).beginRequest(
                from: CurlSocket.Endpoint(address: String(cString: local!), port: Int(localPort)),
                to: CurlSocket.Endpoint(address: String(cString: remote!), port: Int(remotePort)))
            return Int32(isAllowed ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT)
        }
    }

    private static func sockets(_ pointer: UnsafeMutableRawPointer?) -> CurlSockets {
        Unmanaged<CurlSockets>.fromOpaque(pointer!).takeUnretainedValue()
    }

    static func of(_ handle: OpaquePointer) -> CurlTransfer {
        var this: UnsafeMutableRawPointer?
        ccurl_get_pointer(handle, CURLINFO_PRIVATE, &this)
        return at(this)
    }

    private static func at(_ this: UnsafeMutableRawPointer?) -> CurlTransfer {
        Unmanaged<CurlTransfer>.fromOpaque(this!).takeUnretainedValue()
    }
}
