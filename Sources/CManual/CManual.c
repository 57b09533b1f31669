#include "CManual.h"

#include <stddef.h>
#include <string.h>

// The compiler of the toolchain has #embed, whatever standard it is asked for.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const char drainq[] = {
#embed "../../man/drainq.1"
    , 0};
static const char apps[] = {
#embed "../../man/drainq-apps.7"
    , 0};
static const char config[] = {
#embed "../../man/drainq-config.5"
    , 0};
static const char json[] = {
#embed "../../man/drainq-json.5"
    , 0};
static const char queue[] = {
#embed "../../man/drainq-queue.5"
    , 0};
static const char setup[] = {
#embed "../../man/drainq-setup.7"
    , 0};
static const char sizing[] = {
#embed "../../man/drainq-sizing.7"
    , 0};

static const struct {
  const char *name;
  const char *text;
} pages[] = {
    {"drainq", drainq},      {"drainq-apps", apps},   {"drainq-config", config}, {"drainq-json", json},
    {"drainq-queue", queue}, {"drainq-setup", setup}, {"drainq-sizing", sizing},
};

const char *cmanual_text(const char *name) {
  for (size_t index = 0; index < sizeof pages / sizeof *pages; index++) {
    if (strcmp(name, pages[index].name) == 0) return pages[index].text;
  }
  return NULL;
}
