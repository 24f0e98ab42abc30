/** The tracer of an admin, as the OTEL_* variables want it. */
import type { Log } from '../net/log.ts';
import type { Unwind } from '../net/unwind.ts';
import { createTracer, type Tracer } from '../../actors/tracer.ts';
import type { ExportCounters } from './export.ts';
import { readTracingSettings } from './settings.ts';

/** Who is traced. */
export interface TracingOptions {
  /** The OTEL_* variables. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** Name of this admin among its peers. */
  readonly instance: string;
  readonly log: Log;
  /** Gets what is to be ended. */
  readonly ends: Pick<Unwind, 'add'>;
}

/** A tracer, and what it did. */
export interface Tracing {
  readonly tracer: Tracer;
  /** Null: nothing is exported. */
  readonly counters: ExportCounters | null;
}

/**
 * Off unless the variables switch it on; then, and only then, the libraries are loaded. What is wrong with a variable
 * is one warning; nothing here keeps an admin from starting. Its end sends what waits, within 2 s.
 */
export async function createTracing({ variables, version, instance, log, ends }: TracingOptions): Promise<Tracing> {
  const { settings, warnings } = readTracingSettings(variables);
  for (const warning of warnings) log.warn({ setting: warning.split(' ')[0] }, warning);
  if (settings === null) return { tracer: createTracer(null), counters: null };
  try {
    const { createSpanExport } = await import('./export.ts');
    const sink = createSpanExport(settings, version, instance, log);
    log.info({ exporters: settings.exporters }, 'traces are exported');
    ends.add('traces', () => sink.close());
    return { tracer: createTracer(sink), counters: sink.counters };
  } catch (error) {
    log.warn({ error }, 'traces cannot be exported');
    return { tracer: createTracer(null), counters: null };
  }
}
