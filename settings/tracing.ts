/**
 * The standard variables of OpenTelemetry, as the settings tables tell of them. What they mean is read where they are
 * used: a wrong one is warned of, and refuses no start.
 */
import { z } from 'zod';

const standard = (defaultText: string, description: string) => z.string().optional().meta({ defaultText, description });

/** The most used; docs/tracing.md has all that are honoured. */
export const TRACING_SETTINGS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: standard(
    'none',
    'URL of an OpenTelemetry collector, such as http://collector:4318. Setting it switches the export of traces on (docs/tracing.md).',
  ),
  OTEL_TRACES_EXPORTER: standard('otlp when an endpoint is set, else none', '`otlp`, `console` or `none`.'),
  OTEL_EXPORTER_OTLP_PROTOCOL: standard('http/protobuf', '`http/protobuf` or `http/json`. gRPC is not spoken.'),
  OTEL_EXPORTER_OTLP_HEADERS: z.string().optional().meta({
    secret: true,
    defaultText: 'none',
    description:
      'Headers for the collector, such as a key: `name=value` pairs with commas between them. Never printed.',
  }),
  OTEL_TRACES_SAMPLER: standard(
    'parentbased_always_on',
    'Which traces are recorded; OTEL_TRACES_SAMPLER_ARG is the share of those by ratio.',
  ),
  OTEL_SERVICE_NAME: standard('edge-admin', 'Name of this service in its traces.'),
  OTEL_RESOURCE_ATTRIBUTES: standard('none', 'What else describes it: `name=value` pairs with commas between them.'),
  OTEL_SDK_DISABLED: standard('false', '`true` switches the export off, whatever else is set.'),
};

/**
 * All variables of OpenTelemetry in an environment, those of the settings as they were read: what is secret may be in a
 * file.
 */
export function tracingVariables(
  env: Readonly<Record<string, string | undefined>>,
  read: Readonly<Partial<Record<keyof typeof TRACING_SETTINGS, string | undefined>>>,
): Readonly<Record<string, string | undefined>> {
  const given = Object.keys(TRACING_SETTINGS).map((name) => [name, read[name as keyof typeof TRACING_SETTINGS]]);
  return {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('OTEL_'))),
    ...Object.fromEntries(given),
  };
}
