/** Where MQTT servers are and how bytes get there: plain TCP, TLS, or a WebSocket over either. */
import { readFile } from 'node:fs/promises';
import { connect as connectTcp, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { createWebSocketStream, WebSocket } from 'ws';
import type { MqttSettings } from './settings.ts';

/** One server. */
export interface MqttServer {
  /** For operators: `host:port`, and the path of a WebSocket. Never credentials. */
  readonly label: string;
  /** Begins to connect; the stream takes writes at once and fails as `error` and `close`. */
  dial(): Duplex;
}

/**
 * Longest WebSocket message from a server, in bytes: all that a publisher is sent are acknowledgements of four bytes,
 * which a server may join.
 */
const MESSAGE_BYTES_MAX = 65_536;

/** By scheme and transport. Source: IANA's registry of port numbers. */
const DEFAULT_PORTS = { tcp: { plain: 1_883, tls: 8_883 }, webSocket: { plain: 80, tls: 443 } } as const;

const TLS_SCHEMES: readonly string[] = ['mqtts:', 'ssl:', 'wss:'];
const WEB_SOCKET_SCHEMES: readonly string[] = ['ws:', 'wss:'];

/**
 * The configured servers, in order. A scheme can only add: `mqtts:` is encrypted and `ws:` a WebSocket also where the
 * settings leave both off.
 * A path in a URL comes before that of the settings. Rejects with what is wrong with a file, naming its setting.
 */
export async function mqttServers(settings: MqttSettings): Promise<MqttServer[]> {
  const secureContext = await trust(settings.tls);
  return settings.urls.map((text) => {
    const url = new URL(text);
    const isEncrypted = settings.tls !== null || TLS_SCHEMES.includes(url.protocol);
    const path =
      settings.webSocketPath !== null || WEB_SOCKET_SCHEMES.includes(url.protocol)
        ? (pathOf(url) ?? settings.webSocketPath ?? '/mqtt')
        : null;
    const port = Number(url.port || DEFAULT_PORTS[path === null ? 'tcp' : 'webSocket'][isEncrypted ? 'tls' : 'plain']);
    const label = `${url.hostname}:${port}${path ?? ''}`;
    const host = url.hostname.replaceAll(/^\[|\]$/gu, '');
    const tls = { secureContext, ...(isIP(host) === 0 && { servername: host }) };
    return {
      label,
      dial() {
        if (path !== null) return dialWebSocket(`${isEncrypted ? 'wss' : 'ws'}://${label}`, isEncrypted ? tls : {});
        if (!isEncrypted) return connectTcp({ host, port, noDelay: true });
        return connectTls({ host, port, ...tls }).setNoDelay(true);
      },
    };
  });
}

function pathOf(url: URL): string | null {
  return url.pathname === '' || url.pathname === '/' ? null : url.pathname;
}

function dialWebSocket(url: string, tls: { readonly secureContext?: SecureContext }): Duplex {
  return createWebSocketStream(
    new WebSocket(url, 'mqtt', {
      ...tls,
      perMessageDeflate: false,
      maxPayload: MESSAGE_BYTES_MAX,
      followRedirects: false,
    }),
  );
}

/** Whom to trust and as whom to appear. The files are read at each connection, so that renewed ones are taken. */
async function trust(tls: MqttSettings['tls']): Promise<SecureContext> {
  const ca = tls?.caFile == null ? undefined : await pem('EVENT_BROKER_MQTT_CACERT_FILE', tls.caFile);
  const cert = tls?.client == null ? undefined : await pem('EVENT_BROKER_MQTT_CLIENT_CERT_FILE', tls.client.certFile);
  const key = tls?.client == null ? undefined : await pem('EVENT_BROKER_MQTT_CLIENT_KEY_FILE', tls.client.keyFile);
  try {
    return createSecureContext({ ca, cert, key });
  } catch (error) {
    throw new Error(
      'EVENT_BROKER_MQTT_CACERT_FILE, EVENT_BROKER_MQTT_CLIENT_CERT_FILE and EVENT_BROKER_MQTT_CLIENT_KEY_FILE hold no certificates and key that fit together.',
      { cause: error },
    );
  }
}

async function pem(setting: string, path: string): Promise<Buffer> {
  return readFile(path).catch((error: unknown) => {
    throw new Error(
      `${setting} is ${JSON.stringify(path)}: the file cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}).`,
      { cause: error },
    );
  });
}
