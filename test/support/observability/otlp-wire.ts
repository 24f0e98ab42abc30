/**
 * Reads ExportTraceServiceRequest of OTLP, from its own reading of the protobuf wire. Source: opentelemetry-proto,
 * trace/v1/trace.proto.
 */

/** A span as it arrived. Times in ms; attributes by name. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: none. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly string[];
  /** 0 unset, 1 good, 2 an error. */
  readonly status: number;
  readonly statusMessage: string;
  readonly resource: Readonly<Record<string, unknown>>;
}

/** The spans of one request. */
export function readSpans(body: Buffer, type: string): CollectedSpan[] {
  return type.includes('json') ? spansOfJson(JSON.parse(body.toString('utf8')) as JsonRequest) : spansOfProtobuf(body);
}

interface JsonValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly boolValue?: boolean;
  readonly doubleValue?: number;
}
interface JsonAttribute {
  readonly key: string;
  readonly value: JsonValue;
}
interface JsonSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly JsonAttribute[];
  readonly events: readonly { readonly name: string }[];
  readonly status: { readonly code: number; readonly message?: string };
}
interface JsonRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly JsonAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly JsonSpan[] }[];
  }[];
}

function spansOfJson({ resourceSpans }: JsonRequest): CollectedSpan[] {
  const record = (attributes: readonly JsonAttribute[]) =>
    Object.fromEntries(
      attributes.map(({ key, value }) => [
        key,
        value.stringValue ?? value.boolValue ?? value.doubleValue ?? Number(value.intValue),
      ]),
    );
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        kind: span.kind,
        startMs: Number(BigInt(span.startTimeUnixNano) / 1_000n) / 1_000,
        endMs: Number(BigInt(span.endTimeUnixNano) / 1_000n) / 1_000,
        attributes: record(span.attributes),
        events: span.events.map(({ name }) => name),
        status: span.status.code,
        statusMessage: span.status.message ?? '',
        resource: record(resource.attributes),
      })),
    ),
  );
}

type Value = Buffer | bigint;
/** Field number → its values, in order. */
type Message = ReadonlyMap<number, readonly Value[]>;

function spansOfProtobuf(body: Buffer): CollectedSpan[] {
  return messages(read(body), 1).flatMap((resourceSpans) => {
    const resource = attributesOf(messages(resourceSpans, 1)[0] ?? new Map(), 1);
    return messages(resourceSpans, 2).flatMap((scopeSpans) =>
      messages(scopeSpans, 2).map((span): CollectedSpan => {
        const status = messages(span, 15)[0] ?? new Map();
        return {
          traceId: bytes(span, 1).toString('hex'),
          spanId: bytes(span, 2).toString('hex'),
          parentSpanId: bytes(span, 4).toString('hex'),
          name: bytes(span, 5).toString('utf8'),
          kind: Number(number(span, 6)),
          startMs: Number(number(span, 7) / 1_000n) / 1_000,
          endMs: Number(number(span, 8) / 1_000n) / 1_000,
          attributes: attributesOf(span, 9),
          events: messages(span, 11).map((event) => bytes(event, 2).toString('utf8')),
          status: Number(number(status, 3)),
          statusMessage: bytes(status, 2).toString('utf8'),
          resource,
        };
      }),
    );
  });
}

function attributesOf(message: Message, field: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(message, field).map((pair) => {
      const value = messages(pair, 2)[0] ?? new Map();
      return [
        bytes(pair, 1).toString('utf8'),
        value.has(1)
          ? bytes(value, 1).toString('utf8')
          : value.has(2)
            ? number(value, 2) === 1n
            : value.has(3)
              ? Number(BigInt.asIntN(64, number(value, 3)))
              : new DataView(new BigUint64Array([number(value, 4)]).buffer).getFloat64(0, true),
      ];
    }),
  );
}

function messages(message: Message, field: number): Message[] {
  return (message.get(field) ?? []).map((value) => read(value as Buffer));
}

function bytes(message: Message, field: number): Buffer {
  return (message.get(field)?.[0] ?? Buffer.alloc(0)) as Buffer;
}

function number(message: Message, field: number): bigint {
  return (message.get(field)?.[0] ?? 0n) as bigint;
}

/** One message of the wire: varints, 64 and 32 bits, and what has a length. Source: protobuf.dev, encoding. */
function read(buffer: Buffer): Message {
  const fields = new Map<number, Value[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = buffer[at] ?? 0;
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => {
    at += length;
    return buffer.subarray(at - length, at);
  };
  while (at < buffer.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    const value: Value =
      wire === 0
        ? varint()
        : wire === 1
          ? take(8).readBigUInt64LE()
          : wire === 5
            ? BigInt(take(4).readUInt32LE())
            : take(Number(varint()));
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return fields;
}
