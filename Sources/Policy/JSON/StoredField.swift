/// A field of a `StoredObject`.
package struct StoredField<Object: StoredObject>: Sendable {
    /// When a field is written, and what its absence means. An object with a field that cannot be read cannot be read:
    /// it may have had a hold.
    package enum Presence: Sendable {
        /// Always written. An object without the field cannot be read.
        case required
        /// Always written. Absent means the value of the blank object.
        case always
        /// Left out if it has the value of the blank object.
        case unlessBlank
    }

    let write: @Sendable (_ value: Object, _ object: inout KeyedEncodingContainer<JSONName>) throws -> Void
    let read: @Sendable (_ value: inout Object, _ object: KeyedDecodingContainer<JSONName>) throws -> Void

    /// Creates a field whose value is stored as it is.
    package init<Value: Codable & Equatable & SendableMetatype>(
        _ name: JSONName, _ path: any WritableKeyPath<Object, Value> & Sendable, _ presence: Presence = .unlessBlank
    ) {
        self.init(name, path, presence) { (stored: Value) in stored }
    }

    /// Creates a field whose stored value is checked or converted.
    ///
    /// - Parameter reading: returns the value; `nil` if the stored value means as much as its absence.
    package init<Value: Encodable & Equatable & SendableMetatype, Stored: Decodable & SendableMetatype>(
        _ name: JSONName, _ path: any WritableKeyPath<Object, Value> & Sendable, _ presence: Presence = .unlessBlank,
        reading: @escaping @Sendable (Stored) -> Value?
    ) {
        write = { value, object in
            if presence == .unlessBlank, value[keyPath: path] == Object.blank[keyPath: path] { return }
            try object.encode(value[keyPath: path], forKey: name)
        }
        read = { value, object in
            if let read = try object.decodeIfPresent(Stored.self, forKey: name).flatMap(reading) {
                value[keyPath: path] = read
            } else if presence == .required {
                throw DecodingError.dataCorruptedError(forKey: name, in: object, debugDescription: "absent")
            }
        }
    }

    /// The version of a file's format. An object of another version cannot be read; a newer one throws `NewerVersion`.
    package static func version(_ version: Int) -> StoredField {
        StoredField { _, object in
            try object.encode(version, forKey: "version")
        } read: { _, object in
            let found = try object.decode(Int.self, forKey: "version")
            if found > version { throw NewerVersion(version: found) }
            if found != version {
                throw DecodingError.dataCorruptedError(
                    forKey: "version", in: object, debugDescription: "another version")
            }
        }
    }

    private init(
        write: @escaping @Sendable (Object, inout KeyedEncodingContainer<JSONName>) throws -> Void,
        read: @escaping @Sendable (inout Object, KeyedDecodingContainer<JSONName>) throws -> Void
    ) {
        (self.write, self.read) = (write, read)
    }
}

/// A newer drainq has written the document.
package struct NewerVersion: Error, Hashable, Sendable {
    package let version: Int
}

/// Returns a check of numbers: from 1 on, at most `most`.
func counted(upTo most: Int) -> @Sendable (Int) -> Int? { { $0 > 0 ? min($0, most) : nil } }
