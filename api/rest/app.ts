/** The bare HTTP server of the API: its bounds, its headers, and HTTPS where it has a certificate. */
import {
  fastify,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';
import type { Log } from '../../transport/net/log.ts';
import { boundPipelining } from '../../transport/net/streams/pipelining.ts';
import type { CertificateWatch } from '../../transport/net/tls/certificate-watch.ts';
import { tlsOptions } from '../../transport/net/tls/front.ts';
import type { RequestRecords } from '../request-record.ts';
import { answerBrokenHttp, HEADER_BYTES_MAX, sendFailure } from './failures.ts';
import { beginRecord } from './request-records.ts';
import { requestIdOf } from './requests.ts';
import { isUpgrade } from './upgrades.ts';

/** A certificate, and whoever is told of another one. */
export type ServedCertificate = Pick<CertificateWatch, 'pair' | 'onChange' | 'turnedAway'>;

/** What the operator decides about the server itself. */
export interface AppSettings {
  /** Largest body, in bytes; above it 413. */
  readonly bodyBytesMax: number;
  /** A request must be complete within this time, in ms. Default: REQUEST_MS_MAX. */
  readonly requestMsMax?: number;
  /** The certificate with which it serves HTTPS; null or left out: it serves plain HTTP. */
  readonly certificate?: ServedCertificate | null;
}

/** A request must be complete within this time, in ms. Fastify's default is none. */
const REQUEST_MS_MAX = 30_000;

/**
 * How often late requests are looked for, in ms. Node's default is 30 s, by which they would end so much later; headers
 * have 60 s there.
 */
const LATE_LOOK_MS = 1_000;

/** A connection with nothing going on is closed after this time, in ms. Streams must say something more often. */
const CONNECTION_IDLE_MS_MAX = 120_000;

/**
 * Idle time between two requests of a connection, in ms. Above the usual 60 s of load balancers, so that they close
 * first.
 */
const KEEP_ALIVE_MS = 72_000;

/** Headers of a request, in number: Node forgets those beyond it, without a word. */
export const HEADERS_MAX = 100;

/** Longest path parameter that is matched, in characters; longer ones are an unknown route. */
const PARAMETER_CHARACTERS_MAX = 1_024;

/** The server with nothing on it yet: its limits, and what it says where no route is asked for. */
export function createApp(settings: AppSettings, log: Log, records: RequestRecords): FastifyInstance {
  const { requestMsMax = REQUEST_MS_MAX, certificate = null } = settings;
  const http = {
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: requestMsMax,
    requestTimeout: requestMsMax,
    connectionsCheckingInterval: LATE_LOOK_MS,
    shouldUpgradeCallback: isUpgrade,
  };
  const app = fastify({
    logger: false,
    bodyLimit: settings.bodyBytesMax,
    requestTimeout: requestMsMax,
    connectionTimeout: CONNECTION_IDLE_MS_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: (request) => requestIdOf(request as never),
    routerOptions: { maxParamLength: PARAMETER_CHARACTERS_MAX },
    ...(certificate === null ? { http } : { https: { ...http, ...tlsOptions(certificate.pair) } }),
    clientErrorHandler: (error, socket) => answerBrokenHttp(error, socket),
    frameworkErrors: (error, request, reply) => {
      markAnswer(request, reply, records); // hooks do not run for these
      sendFailure(error, request, reply, log);
    },
  } as FastifyServerOptions);
  app.server.maxHeadersCount = HEADERS_MAX;
  boundPipelining(app.server);
  return app;
}

/** Headers of every answer. */
export function markAnswer(request: FastifyRequest, reply: FastifyReply, records: RequestRecords): void {
  beginRecord(request, reply, records);
  reply
    .header('x-request-id', request.id)
    .header('x-content-type-options', 'nosniff')
    .header('cache-control', 'no-store');
}
