/**
 * Which nodes there are to scrape, as Prometheus' HTTP service discovery reads it. Not in the catalogue: a bare array,
 * streamed. Source: docs/metrics.md.
 */
import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Log } from '../../transport/net/log.ts';
import { refuse } from '../../actors/refusal.ts';
import { IN_WORDS } from '../inputs/issue-words.ts';
import type { OperationPorts } from '../ports.ts';
import { detailsOf } from '../inputs/parse.ts';
import type { Gate } from '../principals.ts';
import { describingLabels, DISCOVERY_INPUT, discoveryFilters, scrapedAdmin } from '../scrape-targets.ts';
import { sendRefusal } from './answers.ts';
import { callerOf } from './requests.ts';
import { API_PREFIX } from './routes.ts';
import { METRICS_SOURCES, type MetricsSource } from '../../actors/resources/node-metrics.ts';

/** Where the list of a source is. */
export function discoveryPath(source: MetricsSource): string {
  return `${API_PREFIX}/nodes/metrics/${source}/discovery`;
}

/** Offers the discovery routes, to METRICS_KEY and MASTER_KEY. */
export function registerDiscovery(
  app: FastifyInstance,
  { discovery, settings }: Pick<OperationPorts, 'discovery' | 'settings'>,
  gate: Gate,
  log: Log,
): void {
  for (const source of METRICS_SOURCES) {
    app.get(discoveryPath(source), { exposeHeadRoute: false }, async (request, reply) => {
      const admitted = gate.admit('metrics', callerOf(request, 'rest'));
      if (!admitted.ok) return sendRefusal(reply, admitted.refusal);
      const parsed = DISCOVERY_INPUT.safeParse(request.query, IN_WORDS);
      if (!parsed.success)
        return sendRefusal(
          reply,
          refuse('bad_request', 'Malformed parameter', detailsOf(parsed.error.issues, DISCOVERY_INPUT)).refusal,
        );
      return sendTargets(
        reply,
        log,
        discovery.pieces(discoveryFilters(parsed.data)),
        entryOf(settings.metricsBaseUrl ?? settings.adminUrls[0] ?? '', source),
      );
    });
  }
}

/**
 * The first piece is read before anything is said, so that a database that is away is a 503. When it goes away later
 * the connection is cut: a list that ends early would make Prometheus forget nodes.
 */
async function sendTargets(
  reply: FastifyReply,
  log: Log,
  pieces: AsyncGenerator<string, void, void>,
  entry: Entry,
): Promise<FastifyReply> {
  const first = await pieces.next();
  reply.hijack(); // what is written below is used again, so it must be known when it has left
  const { raw } = reply;
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'application/json; charset=utf-8',
  });
  const writer = createTargetWriter(raw, entry);
  try {
    for (let piece = first; piece.done !== true; piece = await pieces.next()) await writer.take(piece.value);
    await writer.end();
  } catch (error) {
    // else the client is gone, or was too slow
    if (!raw.destroyed) log.warn({ error, request_id: reply.request.id }, 'a list of targets was cut before its end');
    raw.destroy();
  } finally {
    await pieces.return().catch(() => {}); // it was told above why they ended, and the transaction is over either way
  }
  return reply;
}

/** The parts of an entry around its node's id, cluster, status, version, description, and id again. */
type Entry = readonly [Buffer, Buffer, Buffer, Buffer, Buffer, Buffer];

function entryOf(baseUrl: string, source: MetricsSource): Entry {
  const { address, isHttps, nodesPath } = scrapedAdmin(baseUrl);
  const path = JSON.stringify(nodesPath).slice(0, -1);
  return [
    `,{"targets":[${JSON.stringify(address)}],"labels":{"node_id":"`,
    '","cluster":',
    ',"status":"',
    '","version":',
    `"job":"edge-${source}",${isHttps ? '"__scheme__":"https",' : ''}"__metrics_path__":${path}`,
    `/metrics/${source}/raw"}}`,
  ].map((part) => Buffer.from(part)) as unknown as Entry;
}

/** Bytes that are written at once, and that are kept for one list. */
const CHUNK_BYTES = 65_536;

const [TAB, LINE_FEED] = [9, 10];

/**
 * Writes entries out of lines of nodes into one chunk, which is filled again once it has left: 25 MB of entries as
 * strings would be garbage four times over.
 */
function createTargetWriter(
  raw: ServerResponse,
  entry: Entry,
): { take(piece: string): Promise<void>; end(): Promise<void> } {
  const [beforeId, beforeCluster, beforeStatus, beforeVersion, beforePath, after] = entry;
  const entryBytes = entry.reduce((sum, part) => sum + part.length, 0);
  let lines = Buffer.allocUnsafe(CHUNK_BYTES);
  let chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let filled = 0;
  let entries = 0;

  const put = (part: Buffer): void => {
    filled += part.copy(chunk, filled);
  };
  const field = (from: number, to: number): void => {
    filled += lines.copy(chunk, filled, from, to);
  };

  async function flush(): Promise<void> {
    await written(raw, chunk.subarray(0, filled));
    filled = 0;
  }

  return {
    async take(piece) {
      if (piece.length * 3 > lines.length) lines = Buffer.allocUnsafe(piece.length * 3); // as UTF-8, at most
      const end = lines.write(piece);
      for (let from = 0; from < end;) {
        const idEnd = lines.indexOf(TAB, from);
        const clusterEnd = lines.indexOf(TAB, idEnd + 1);
        const statusEnd = lines.indexOf(TAB, clusterEnd + 1);
        const versionEnd = lines.indexOf(TAB, statusEnd + 1);
        const to = lines.indexOf(LINE_FEED, versionEnd + 1);
        const description = describedBy(lines.toString('utf8', versionEnd + 1, to));
        const bytes = entryBytes + 2 * (versionEnd - from) + 3 * description.length;
        if (filled + bytes > chunk.length && filled > 0) await flush();
        if (bytes > chunk.length) chunk = Buffer.allocUnsafe(bytes);
        put(beforeId);
        if (entries === 0) chunk[0] = OPEN; // in place of its comma
        entries += 1;
        field(from, idEnd);
        put(beforeCluster);
        field(idEnd + 1, clusterEnd);
        put(beforeStatus);
        field(clusterEnd + 1, statusEnd);
        put(beforeVersion);
        field(statusEnd + 1, versionEnd);
        filled += chunk.write(description, filled);
        put(beforePath);
        field(from, idEnd);
        put(after);
        from = to + 1;
      }
    },
    async end() {
      if (filled > 0) await flush();
      raw.end(entries === 0 ? '[]\n' : ']\n');
    },
  };
}

/** What a node is as a part of its entry, between two commas, from the end of its line. */
function describedBy(text: string): string {
  const [name = '""', facts = '[]', labels = '{}'] = text.split('\t');
  return `,${JSON.stringify(describingLabels(name, facts, labels)).slice(1, -1)},`;
}

/** `[`. */
const OPEN = 91;

/** A client that takes nothing for so long loses its list, in ms: its turn is another's. */
const TAKEN_MS_MAX = 10_000;

/**
 * Resolves when the bytes have left this process; rejects when the client is gone, or does not take them within
 * `msMax`.
 */
export function written(
  raw: Pick<ServerResponse, 'destroyed' | 'once' | 'off' | 'write'>,
  bytes: Buffer,
  msMax = TAKEN_MS_MAX,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const gone = (): void => reject(new Error('the client is gone'));
    if (raw.destroyed) return gone();
    const timer = setTimeout(gone, msMax);
    raw.once('close', gone);
    raw.write(bytes, (error) => {
      clearTimeout(timer);
      raw.off('close', gone);
      if (error == null) resolve();
      else reject(error);
    });
  });
}
