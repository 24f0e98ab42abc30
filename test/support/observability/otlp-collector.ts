/** A collector of traces: an HTTP server that reads OTLP, in protobuf and JSON, and keeps the spans. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { readSpans, type CollectedSpan } from './otlp-wire.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';

/** A running collector. */
export interface OtlpCollector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** Headers and path of each request. */
  readonly requests: readonly { readonly path: string; readonly headers: IncomingMessage['headers'] }[];
  /** Resolves with the spans of a trace once they are as `wanted`. */
  trace(traceId: string, wanted: (spans: readonly CollectedSpan[]) => boolean): Promise<readonly CollectedSpan[]>;
}

/** Starts a collector that ends with the scope. `answer` replaces its answers. */
export async function startOtlpCollector(
  scope: Scope,
  answer: (response: ServerResponse, request: IncomingMessage) => void = (response) =>
    void response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(),
): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = [];
  const requests: { path: string; headers: IncomingMessage['headers'] }[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('error', () => {});
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = Buffer.concat(pieces);
      requests.push({ path: request.url ?? '', headers: request.headers });
      spans.push(
        ...readSpans(
          request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body,
          request.headers['content-type'] ?? '',
        ),
      );
      answer(response, request);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  scope.teardown(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    trace: (traceId, wanted) =>
      until(`the spans of trace ${traceId}`, () => {
        const found = spans.filter((span) => span.traceId === traceId);
        if (wanted(found)) return found;
        throw new Error(`there are ${found.map(({ name }) => name).join(', ') || 'none'}`);
      }),
  };
}
