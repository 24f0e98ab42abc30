/** Who may import which package: what test/tidy.test.ts holds, beside its table of parts. */

const WIRE = 'transport/protocol/';
const RELEASE_REPOSITORY = 'transport/releases/repository/';

/** Packages that only some parts may import. */
export const PACKAGE_PARTS: Readonly<Record<string, readonly string[]>> = {
  // Arithmetic without effects: the one package besides zod in a part that stays pure.
  '@noble/curves': ['actors/ssh/curves.ts'],
  nact: ['supervisors/runtime/', 'test/unit/supervisors/runtime/'],
  // In browsers alone: the build puts them into the console's files.
  preact: ['console/'],
  '@preact/signals': ['console/'],
  '@xterm/addon-fit': ['console/'],
  '@xterm/xterm': ['console/'],
  uplot: ['console/'],
  uqr: ['console/'],
  pg: ['persistence/', 'bench/', 'test/chaos/', 'test/'],
  'prom-client': ['api/metrics/'],
  // TUF is spoken by those who sign, check and install releases.
  '@tufjs/models': [RELEASE_REPOSITORY, 'cli/release/', 'test/'],
  'tuf-js': ['agent/updater/', 'test/'],
  '@mikro-orm/core': ['persistence/', 'test/'],
  '@mikro-orm/postgresql': ['persistence/', 'test/'],
  '@mikro-orm/migrations': ['persistence/', 'test/'],
  // Loaded where traces are exported and nowhere else: they cost memory and a quarter of a second.
  '@opentelemetry/api': ['transport/tracing/export.ts'],
  '@opentelemetry/resources': ['transport/tracing/export.ts'],
  '@opentelemetry/sdk-trace': ['transport/tracing/export.ts'],
  '@opentelemetry/otlp-exporter-base': ['transport/tracing/export.ts'],
  '@opentelemetry/otlp-transformer': ['transport/tracing/export.ts'],
};

/**
 * Parts in which no package may be imported but zod and what PACKAGE_PARTS gives them: they are read by every program,
 * or must stay pure.
 */
export const PURE_PARTS = ['settings/', WIRE, 'actors/'];

/** Parts that are not shipped and may use what is installed for development. */
export const DEVELOPMENT_PARTS = ['test/', 'bench/', 'test/chaos/', 'deploy/'];
