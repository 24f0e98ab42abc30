/**
 * Whether and where spans are exported, by the standard OTEL_* variables. Wrong ones are warned of and fall back:
 * tracing never keeps an admin from starting.
 */

/** Where spans go and how. Times in ms. */
export interface TracingSettings {
  readonly exporters: readonly ('otlp' | 'console')[];
  readonly otlp: OtlpSettings;
  readonly sampler: SamplerSettings;
  readonly batch: BatchSettings;
  /** What describes this admin in each span: OTEL_RESOURCE_ATTRIBUTES, with OTEL_SERVICE_NAME over it. */
  readonly resource: Readonly<Record<string, string>>;
}

/** The collector. */
export interface OtlpSettings {
  readonly url: string;
  readonly protocol: 'http/protobuf' | 'http/json';
  /** May hold a credential: never logged. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly compression: 'none' | 'gzip';
  /** Paths of PEM files, for a collector behind TLS. */
  readonly certificate: string | null;
  readonly clientKey: string | null;
  readonly clientCertificate: string | null;
}

/** Which traces that begin here are recorded, and whether those that others began follow their decision. */
export interface SamplerSettings {
  readonly ratio: number;
  readonly followsParent: boolean;
}

/** OTEL_BSP_*: how spans wait for their export. */
export interface BatchSettings {
  readonly queueMax: number;
  readonly batchMax: number;
  readonly delayMs: number;
  readonly exportMsMax: number;
}

/**
 * The settings, null when nothing is exported, and one line for each variable that is wrong. Lines hold no values that
 * may be secret.
 */
export interface TracingChoice {
  readonly settings: TracingSettings | null;
  readonly warnings: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Bounds of what may be asked for: a queue is memory, and a wait is a stop that takes longer. */
const QUEUE_SPANS_MAX = 65_536;
const WAIT_MS_MAX = 600_000;

/** Pairs of a header list or of resource attributes, and characters of each. */
const PAIRS_MAX = 64;
const VALUE_CHARACTERS_MAX = 4_096;

/** Defaults. Source: OpenTelemetry, environment variable specification and OTLP exporter specification. */
const DEFAULT_ENDPOINT = 'http://localhost:4318';
const TRACES_PATH = 'v1/traces';
const OTLP_TIMEOUT_MS = 10_000;
const BATCH_DEFAULTS = { queueMax: 2_048, batchMax: 512, delayMs: 5_000, exportMsMax: 30_000 };
const SERVICE_NAME = 'edge-admin';

/** Reads the OTEL_* variables. An empty one counts as unset. */
export function readTracingSettings(env: Environment): TracingChoice {
  const reader = createReader(env);
  const exporters = exportersOf(reader);
  if (exporters.length === 0) return { settings: null, warnings: reader.warnings };
  const protocol = exporters.includes('otlp') ? protocolOf(reader) : 'http/protobuf';
  const url = exporters.includes('otlp') ? urlOf(reader) : DEFAULT_ENDPOINT;
  const usable = protocol === null || url === null ? exporters.filter((exporter) => exporter !== 'otlp') : exporters;
  if (usable.length === 0) return { settings: null, warnings: reader.warnings };
  return {
    settings: {
      exporters: usable,
      otlp: {
        url: url ?? DEFAULT_ENDPOINT,
        protocol: protocol ?? 'http/protobuf',
        headers: {
          ...reader.pairs('OTEL_EXPORTER_OTLP_HEADERS', isHeader),
          ...reader.pairs('OTEL_EXPORTER_OTLP_TRACES_HEADERS', isHeader),
        },
        timeoutMs: reader.integer(either(env, 'TIMEOUT'), OTLP_TIMEOUT_MS, 1, WAIT_MS_MAX),
        compression: reader.choice(either(env, 'COMPRESSION'), ['none', 'gzip'], 'none'),
        certificate: reader.text(either(env, 'CERTIFICATE')),
        clientKey: reader.text(either(env, 'CLIENT_KEY')),
        clientCertificate: reader.text(either(env, 'CLIENT_CERTIFICATE')),
      },
      sampler: samplerOf(reader),
      batch: batchOf(reader),
      resource: {
        'service.name': SERVICE_NAME,
        ...reader.pairs('OTEL_RESOURCE_ATTRIBUTES', isAttribute),
        ...serviceName(reader),
      },
    },
    warnings: reader.warnings,
  };
}

type Reader = ReturnType<typeof createReader>;

function createReader(env: Environment) {
  const warnings: string[] = [];
  const text = (name: string): string | null => {
    const value = env[name]?.trim() ?? '';
    return value === '' ? null : value;
  };
  const warn = (name: string, expected: string): void => {
    warnings.push(`${name} is wrong: it should be ${expected}`);
  };

  return {
    warnings,
    text,
    warn,
    integer(name: string, fallback: number, min: number, max: number): number {
      const value = text(name);
      if (value === null) return fallback;
      const number = Number(value);
      if (/^\d+$/u.test(value) && number >= min && number <= max) return number;
      warn(name, `a whole number from ${min} to ${max}`);
      return fallback;
    },
    choice<T extends string>(name: string, choices: readonly T[], fallback: T): T {
      const value = text(name);
      const chosen = choices.find((choice) => choice === value?.toLowerCase());
      if (value !== null && chosen === undefined) warn(name, `one of ${choices.join(', ')}`);
      return chosen ?? fallback;
    },
    /** `name=value` pairs with commas between them, percent-encoded. Source: W3C Baggage, as OpenTelemetry uses it. */
    pairs(name: string, isGood: (name: string, value: string) => boolean): Record<string, string> {
      const parts = (text(name) ?? '')
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '');
      const pairs = parts.map(pairOf).filter((pair) => pair !== null && isGood(...pair)) as [string, string][];
      if (pairs.length < parts.length || parts.length > PAIRS_MAX)
        warn(name, 'pairs like name=value with commas between them, percent-encoded; those that are not are left out');
      return Object.fromEntries(pairs.slice(0, PAIRS_MAX));
    },
  };
}

function pairOf(part: string): [string, string] | null {
  const at = part.indexOf('=');
  if (at < 1) return null;
  try {
    return [decodeURIComponent(part.slice(0, at).trim()), decodeURIComponent(part.slice(at + 1).trim())];
  } catch {
    return null; // a percent sign that encodes nothing
  }
}

function isAttribute(name: string, value: string): boolean {
  return name.length <= VALUE_CHARACTERS_MAX && value.length <= VALUE_CHARACTERS_MAX;
}

/** A name of a header is a token, and its value has no control characters. Source: RFC 9110, 5.1 and 5.5. */
function isHeader(name: string, value: string): boolean {
  return (
    /^[!#$%&'*+.^_`|~\w-]+$/u.test(name) &&
    value.length <= VALUE_CHARACTERS_MAX &&
    /^[\t\x20-\x7e\x80-\xff]*$/u.test(value)
  );
}

/** The variable of this signal, where it is set, else the one of all. */
function either(env: Environment, name: string): string {
  const own = `OTEL_EXPORTER_OTLP_TRACES_${name}`;
  return (env[own] ?? '').trim() === '' ? `OTEL_EXPORTER_OTLP_${name}` : own;
}

/** Off unless asked for: by name, or by telling where a collector is. */
function exportersOf(reader: Reader): readonly ('otlp' | 'console')[] {
  if (reader.choice('OTEL_SDK_DISABLED', ['true', 'false'], 'false') === 'true') return [];
  const named = reader.text('OTEL_TRACES_EXPORTER');
  if (named === null)
    return reader.text('OTEL_EXPORTER_OTLP_ENDPOINT') === null &&
      reader.text('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') === null
      ? []
      : ['otlp'];
  const names = named.split(',').map((name) => name.trim().toLowerCase());
  const known = (['otlp', 'console'] as const).filter((name) => names.includes(name));
  if (names.some((name) => name !== 'otlp' && name !== 'console' && name !== 'none'))
    reader.warn('OTEL_TRACES_EXPORTER', 'otlp, console, both with a comma between them, or none');
  return names.includes('none') ? [] : known;
}

function protocolOf(reader: Reader): OtlpSettings['protocol'] | null {
  const name =
    reader.text('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') === null
      ? 'OTEL_EXPORTER_OTLP_PROTOCOL'
      : 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL';
  if (reader.text(name)?.toLowerCase() === 'grpc') {
    reader.warn(
      name,
      'http/protobuf or http/json: gRPC is not spoken here, so nothing is exported. Collectors take HTTP on port 4318',
    );
    return null;
  }
  return reader.choice<OtlpSettings['protocol']>(name, ['http/protobuf', 'http/json'], 'http/protobuf');
}

/**
 * The path is added to the endpoint of all signals, and not to that of traces. Source: OTLP exporter specification.
 * Null: it is no URL.
 */
function urlOf(reader: Reader): string | null {
  const own = reader.text('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const name = own === null ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  const given = own ?? reader.text(name) ?? DEFAULT_ENDPOINT;
  const url = own ?? `${given.replace(/\/$/u, '')}/${TRACES_PATH}`;
  if (URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol)) return new URL(url).href;
  reader.warn(name, 'a URL like http://collector:4318; nothing is exported');
  return null;
}

const SAMPLERS = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const;

function samplerOf(reader: Reader): SamplerSettings {
  const sampler = reader.choice('OTEL_TRACES_SAMPLER', SAMPLERS, 'parentbased_always_on');
  const followsParent = sampler.startsWith('parentbased_');
  if (!sampler.endsWith('traceidratio')) return { ratio: sampler.endsWith('always_on') ? 1 : 0, followsParent };
  const text = reader.text('OTEL_TRACES_SAMPLER_ARG') ?? '1';
  const ratio = Number(text);
  if (ratio >= 0 && ratio <= 1) return { ratio, followsParent };
  reader.warn('OTEL_TRACES_SAMPLER_ARG', 'a number from 0 to 1');
  return { ratio: 1, followsParent };
}

function batchOf(reader: Reader): BatchSettings {
  const queueMax = reader.integer('OTEL_BSP_MAX_QUEUE_SIZE', BATCH_DEFAULTS.queueMax, 1, QUEUE_SPANS_MAX);
  const batchMax = reader.integer(
    'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
    Math.min(BATCH_DEFAULTS.batchMax, queueMax),
    1,
    QUEUE_SPANS_MAX,
  );
  if (batchMax > queueMax) reader.warn('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 'at most OTEL_BSP_MAX_QUEUE_SIZE');
  return {
    queueMax,
    batchMax: Math.min(batchMax, queueMax),
    delayMs: reader.integer('OTEL_BSP_SCHEDULE_DELAY', BATCH_DEFAULTS.delayMs, 1, WAIT_MS_MAX),
    exportMsMax: reader.integer('OTEL_BSP_EXPORT_TIMEOUT', BATCH_DEFAULTS.exportMsMax, 1, WAIT_MS_MAX),
  };
}

function serviceName(reader: Reader): { readonly 'service.name'?: string } {
  const name = reader.text('OTEL_SERVICE_NAME');
  return name === null ? {} : { 'service.name': name.slice(0, VALUE_CHARACTERS_MAX) };
}
