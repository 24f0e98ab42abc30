/**
 * Where agents bring recordings of SSH sessions. Not in the catalogue: the credential is the API token of a node, and
 * the body no JSON.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuse, type Refusal } from '../../actors/refusal.ts';
import { Uuid, type NodeId } from '../../transport/protocol/ids.ts';
import {
  decodeRecordingDescription,
  RECORDING_HEADER,
  RECORDING_SLACK_BYTES,
  RECORDING_TEXT_BYTES_MAX,
  RECORDING_TYPE,
} from '../../transport/protocol/recording.ts';
import { RECORDING_PATH } from '../../transport/protocol/version.ts';
import { inspectCast } from '../asciicast.ts';
import type { OperationPorts } from '../ports.ts';
import { createWindowLimiter, type WindowLimiter } from '../../transport/net/window-limiter.ts';
import { sendData, sendRefusal } from './answers.ts';
import { BodyRefused } from './json-body.ts';
import { createNodeEntrance, NO_TOKEN, type NodeEntrance } from './node-entrance.ts';

/** Uploads that are taken at once, over all nodes: each holds its body in memory. More are told to come again (L2). */
const UPLOADS_MAX = 8;

/**
 * Beside them, those that are longer than the settings say today: they were made when the settings said more, or
 * another admin's do, and are as good as the others.
 */
const LONG_UPLOADS_MAX = 1;

/** What is taken at all, in bytes, compressed or not. The settings bound what agents record. */
const UPLOAD_BYTES_MAX = RECORDING_TEXT_BYTES_MAX + RECORDING_SLACK_BYTES;

/** When those should, in seconds. */
const RETRY_SECONDS = 2;

/**
 * Compressed bytes of recordings that one node may store in an hour: some 500 of the default size, full to the end. A
 * token that was stolen cannot fill the disk of the database in an afternoon. And nodes that are remembered for it.
 */
const NODE_BYTES_PER_HOUR_MAX = 268_435_456;
const NODES_REMEMBERED_MAX = 20_000;
const HOUR_MS = 3_600_000;

/** What uploads need of the outside. */
export type RecordingPorts = Pick<OperationPorts, 'reads' | 'records' | 'vault' | 'clock'>;

const BUSY: Refusal = {
  code: 'service_unavailable',
  message: 'Other recordings are being stored. Try again shortly.',
  retryAfterSeconds: RETRY_SECONDS,
};
const TOO_MUCH = refuse('rate_limited', 'This node has stored as many recordings as it may within an hour.').refusal;
const NOT_GZIP_TYPE = refuse(
  'unsupported_media_type',
  `The body must be a gzipped asciicast: Content-Type: ${RECORDING_TYPE}.`,
).refusal;
const TOO_LARGE = refuse('payload_too_large', `The recording unpacks to more than ${UPLOAD_BYTES_MAX} bytes.`).refusal;
const TAKEN = refuse('conflict', 'There is another recording of this id.').refusal;
const FOREIGN_USER = invalid(RECORDING_HEADER, 'ssh_username_id: is a user of another node');
const PROBLEMS = {
  too_large: TOO_LARGE,
  not_gzip: invalid('body', 'must be gzip'),
  not_asciicast: invalid('body', 'must be an asciicast, version 2, in UTF-8'),
} as const;

/** How much is taken, in bytes. */
export interface RecordingLimits {
  /** Text of one recording, as agents are told. */
  readonly bytesMax: number;
  /** Compressed, of one node. Default: 256 MiB. */
  readonly nodeBytesPerHourMax?: number;
}

/** Offers the upload route. */
export function registerRecordings(
  app: FastifyInstance,
  ports: RecordingPorts,
  { bytesMax, nodeBytesPerHourMax = NODE_BYTES_PER_HOUR_MAX }: RecordingLimits,
): void {
  const storedBytes = createWindowLimiter(
    { perWindowMax: nodeBytesPerHourMax, windowMs: HOUR_MS, keysMax: NODES_REMEMBERED_MAX },
    ports.clock,
  );
  const rules = { busy: BUSY, wait: (node: NodeId) => storedBytes.waitMs(node), tooMuch: TOO_MUCH };
  const usual = createNodeEntrance(ports, { ...rules, insideMax: UPLOADS_MAX });
  const long = createNodeEntrance(ports, { ...rules, insideMax: LONG_UPLOADS_MAX });
  /** One that does not say how long it is may be as long as any. */
  const entranceOf = ({ headers }: FastifyRequest): NodeEntrance =>
    Number(headers['content-length'] ?? Infinity) <= bytesMax + RECORDING_SLACK_BYTES ? usual : long;

  app.register((scope, _options, registered) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      RECORDING_TYPE,
      { parseAs: 'buffer', bodyLimit: UPLOAD_BYTES_MAX },
      (_request, body, done) => done(null, body),
    );
    scope.addContentTypeParser('*', (_request, _body, done) => done(new BodyRefused(NOT_GZIP_TYPE)));
    scope.route({
      method: 'PUT',
      url: `${RECORDING_PATH}:id`,
      bodyLimit: UPLOAD_BYTES_MAX,
      onRequest: (request, reply) => entranceOf(request).admit(request, reply),
      handler: async (request, reply) => {
        const node = entranceOf(request).nodeOf(request);
        return node === null ? sendRefusal(reply, NO_TOKEN) : store(request, reply, node, { ports, storedBytes });
      },
    });
    registered();
  });
}

/** Where recordings go, and how much of one and of a node. */
interface Store {
  readonly ports: RecordingPorts;
  readonly storedBytes: WindowLimiter;
}

async function store(
  request: FastifyRequest,
  reply: FastifyReply,
  node: NodeId,
  { ports, storedBytes }: Store,
): Promise<FastifyReply> {
  const id = Uuid.safeParse((request.params as { readonly id?: unknown }).id);
  if (!id.success) return sendRefusal(reply, invalid('id', 'must be a UUID'));
  const header = request.headers[RECORDING_HEADER];
  const description = decodeRecordingDescription(typeof header === 'string' ? header : '');
  if (typeof description === 'string') return sendRefusal(reply, invalid(RECORDING_HEADER, description));
  if (!Buffer.isBuffer(request.body)) return sendRefusal(reply, PROBLEMS.not_gzip);
  const inspected = await inspectCast(request.body, UPLOAD_BYTES_MAX);
  if ('problem' in inspected) return sendRefusal(reply, PROBLEMS[inspected.problem]);

  const outcome = await ports.records.storeRecording({
    id: id.data,
    node,
    description,
    content: request.body,
    sizeBytes: inspected.sizeBytes,
    atMs: ports.clock.nowMs(),
  });
  if (outcome === 'stored') storedBytes.add(node, request.body.length);
  switch (outcome) {
    case 'stored':
      return sendData(reply, 201, { id: id.data });
    case 'known':
      return sendData(reply, 200, { id: id.data });
    case 'taken':
      return sendRefusal(reply, TAKEN);
    case 'foreign_user':
      return sendRefusal(reply, FOREIGN_USER);
    case 'no_node':
      return sendRefusal(reply, NO_TOKEN);
    default:
      return outcome satisfies never;
  }
}

function invalid(field: string, problem: string): Refusal {
  return refuse('validation_failed', 'Validation failed', { [field]: [problem] }).refusal;
}
