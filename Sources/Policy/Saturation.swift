// Arithmetic on numbers that came from outside: from a file or its name, a clock, a configuration, a server, a person. Such a
// number can be any number. Where the result does not fit into the type, it is the nearest value that does: nothing traps,
// and nothing wraps around. `Timestamp` saturates by itself.

infix operator +| : AdditionPrecedence
infix operator -| : AdditionPrecedence
infix operator *| : MultiplicationPrecedence
infix operator +|= : AssignmentPrecedence

extension FixedWidthInteger {
    /// The sum, or the nearest value of the type.
    package static func +| (left: Self, right: Self) -> Self {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? (right < 0 ? .min : .max) : sum
    }

    /// Adds a number to a variable, which becomes the sum, or the nearest value of the type.
    package static func +|= (left: inout Self, right: Self) {
        left = left +| right
    }

    /// The difference, or the nearest value of the type.
    package static func -| (left: Self, right: Self) -> Self {
        let (difference, overflow) = left.subtractingReportingOverflow(right)
        return overflow ? (right < 0 ? .max : .min) : difference
    }

    /// The product, or the nearest value of the type.
    package static func *| (left: Self, right: Self) -> Self {
        let (product, overflow) = left.multipliedReportingOverflow(by: right)
        return overflow ? ((left < 0) == (right < 0) ? .max : .min) : product
    }

    /// The number rounded towards zero, or the nearest value of the type; 0 for what is not a number.
    package init(saturating number: Double) {
        // Every value of Int64 but those next to its ends converts without a check.
        if abs(number) < 0x1p63 {
            self = Self(clamping: Int64(number))
        } else if number.isNaN {
            self = 0
        } else {
            // A type's largest value, as a Double, can be one more than the type holds.
            self = Self(exactly: number.rounded(.towardZero)) ?? (number < 0 ? .min : .max)
        }
    }
}
