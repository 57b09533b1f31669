#pragma once

/// Returns the manual page of this name, `drainq` or `drainq-config`, in mdoc(7), as it is in man/; NULL if there is none.
const char *cmanual_text(const char *name);
