/** A real NATS server for tests, in every way in which one may ask who comes. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nkeys } from '@nats-io/transport-node';
import { certificates, type Certificates } from '../net/certificates.ts';
import { freePort } from '../net/free-ports.ts';
import { Program } from '../fleet/program.ts';
import { peerPath } from '../run/peers.ts';
import { startServer, type Restartable } from '../restartable.ts';
import type { Scope } from '../scope.ts';
import { readNats, type NatsReader, type ReaderSignIn } from './nats-reader.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** Ways to sign in. `tls` takes everybody, encrypted. */
export const NATS_MODES = ['none', 'token', 'user', 'nkey', 'jwt', 'tls'] as const;
/** One of them. */
export type NatsMode = (typeof NATS_MODES)[number];

/** A server. */
export interface NatsServer extends Restartable {
  readonly port: number;
  /** Its authority, where it speaks TLS. */
  readonly certificates: Certificates | null;
  /** What EVENT_BROKER_NATS_ settings must be to get in. */
  readonly env: Readonly<Record<string, string>>;
  /** The same with a credential that the server does not know; it is in `secret`. */
  readonly wrong: { readonly env: Readonly<Record<string, string>>; readonly secret: string } | null;
  /** A client that is not ours. */
  read(...subjects: readonly string[]): Promise<NatsReader>;
}

/**
 * The server's timeout of a sign-in, in s: it has 2 s of its own, which a client on a crowded machine may take.
 * Source: NATS documentation, authorization and tls, timeout.
 */
const SIGN_IN_S_MAX = 60;

interface Way {
  /** Lines of the server's configuration. */
  readonly config: string;
  readonly env: Readonly<Record<string, string>>;
  readonly wrong: NatsServer['wrong'];
  readonly signIn: ReaderSignIn;
}

/**
 * Starts a server with JetStream on a port and a directory of its own; it ends with the scope. `further` are lines of
 * its configuration.
 */
export async function startNats(scope: Scope, mode: NatsMode = 'none', further = ''): Promise<NatsServer> {
  const command = await peerPath('nats-server');
  const directory = temporaryDirectory(scope);
  const port = await freePort();
  const made = mode === 'tls' ? await certificates(directory) : null;
  const way = WAYS[mode](made);
  const file = join(directory, 'nats.conf');
  await writeFile(
    file,
    `listen: 127.0.0.1:${port}\njetstream { store_dir: ${JSON.stringify(directory)} }\n${way.config}\n${further}\n`,
  );
  return {
    port,
    certificates: made,
    wrong: way.wrong,
    env: { EVENT_BROKER_NATS_URLS: `${made === null ? 'nats' : 'tls'}://127.0.0.1:${port}`, ...way.env },
    ...(await startServer(
      'the NATS server',
      () => Program.run(scope, command, ['-c', file]),
      ({ output }) => output.includes('Server is ready'),
    )),
    read: (...subjects) => readNats(scope, { port, ca: made?.ca ?? null, signIn: way.signIn, subjects }),
  };
}

const WAYS: Readonly<Record<NatsMode, (made: Certificates | null) => Way>> = {
  none: () => ({ config: '', env: {}, wrong: null, signIn: () => ({}) }),
  token: () => ({
    config: authorization('token: "token-of-the-tests"'),
    env: { EVENT_BROKER_NATS_TOKEN: 'token-of-the-tests' },
    wrong: { env: { EVENT_BROKER_NATS_TOKEN: 'another-token' }, secret: 'another-token' },
    signIn: () => ({ auth_token: 'token-of-the-tests' }),
  }),
  user: () => ({
    config: authorization('user: "edge", password: "password-of-the-tests"'),
    env: { EVENT_BROKER_NATS_USERNAME: 'edge', EVENT_BROKER_NATS_PASSWORD: 'password-of-the-tests' },
    wrong: {
      env: { EVENT_BROKER_NATS_USERNAME: 'edge', EVENT_BROKER_NATS_PASSWORD: 'another-password' },
      secret: 'another-password',
    },
    signIn: () => ({ user: 'edge', pass: 'password-of-the-tests' }),
  }),
  nkey: () => {
    const [user, stranger] = [nkeys.createUser(), nkeys.createUser()];
    return {
      config: authorization(`users: [ { nkey: ${user.getPublicKey()} } ]`),
      env: { EVENT_BROKER_NATS_NKEY_SEED: seedOf(user) },
      wrong: { env: { EVENT_BROKER_NATS_NKEY_SEED: seedOf(stranger) }, secret: seedOf(stranger) },
      signIn: (nonce) => ({ nkey: user.getPublicKey(), sig: signature(user, nonce) }),
    };
  },
  jwt: () => {
    const [operator, system, account, user, stranger] = [
      nkeys.createOperator(),
      nkeys.createAccount(),
      nkeys.createAccount(),
      nkeys.createUser(),
      nkeys.createUser(),
    ];
    const unlimited = {
      subs: -1,
      data: -1,
      payload: -1,
      imports: -1,
      exports: -1,
      wildcards: true,
      conn: -1,
      leaf: -1,
    };
    // the system account must have none
    const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
    const vouched = (who: Key, limits: object): string =>
      `${who.getPublicKey()}: ${token(operator, who.getPublicKey(), { type: 'account', limits, default_permissions: { pub: {}, sub: {} } })}`;
    const jwt = token(account, user.getPublicKey(), {
      type: 'user',
      pub: {},
      sub: {},
      subs: -1,
      data: -1,
      payload: -1,
    });
    return {
      config: `${authorization('')}\noperator: ${token(operator, operator.getPublicKey(), { type: 'operator' })}\nsystem_account: ${system.getPublicKey()}\nresolver: MEMORY\nresolver_preload: { ${vouched(system, unlimited)}\n ${vouched(account, { ...unlimited, ...storage })} }`,
      env: { EVENT_BROKER_NATS_JWT: jwt, EVENT_BROKER_NATS_NKEY_SEED: seedOf(user) },
      wrong: {
        env: { EVENT_BROKER_NATS_JWT: jwt, EVENT_BROKER_NATS_NKEY_SEED: seedOf(stranger) },
        secret: seedOf(stranger),
      },
      signIn: (nonce) => ({ jwt, sig: signature(user, nonce) }),
    };
  },
  tls: (made) => ({
    config: `tls { cert_file: ${JSON.stringify(made?.server)}, key_file: ${JSON.stringify(made?.serverKey)}, timeout: ${SIGN_IN_S_MAX} }`,
    env: {},
    wrong: null,
    signIn: () => ({}),
  }),
};

/** The block of the configuration with these fields, and time for whoever signs in. */
export function authorization(fields: string): string {
  return `authorization {\n timeout: ${SIGN_IN_S_MAX}\n ${fields}\n}`;
}

type Key = ReturnType<typeof nkeys.createUser>;

function seedOf(key: Key): string {
  return new TextDecoder().decode(key.getSeed());
}

function signature(key: Key, nonce: string): string {
  return Buffer.from(key.sign(new TextEncoder().encode(nonce))).toString('base64url');
}

/** A JWT as NATS wants it. Source: NATS ADR-14. */
function token(issuer: Key, subject: string, claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const body = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part({ jti: subject, iat: Math.floor(Date.now() / 1000), iss: issuer.getPublicKey(), name: 'tests', sub: subject, nats: { ...claims, version: 2 } })}`;
  return `${body}.${signature(issuer, body)}`;
}
