/**
 * Requests over Node's HTTP: each says what becomes of it where the other side switches protocols, as Node tells
 * nobody. A failure here is a request that would be waited for for ever: see
 * transport/net/streams/unasked-upgrade.ts.
 */
import test from 'ava';
import { trackedFiles, withoutComments, type SourceFile } from './support/source/source-text.ts';

const PRODUCT = /^(?:actors|agent|api|cli|persistence|supervisors|transport)\/.*\.ts$|^main\.ts$/u;

/** Dials with a limit of their own: that of the client of MQTT until it was let in, and one of form and socket. */
const LIMITED_OTHERWISE = ['transport/events/brokers/mqtt-servers.ts', 'transport/vpn/derp/stream.ts'];

/** A text that users copy. */
const GUIDE = 'api/docs/guide/examples/typescript.ts';

/** The names by which a file calls `request` and `get` of node:http and node:https. */
function requestNames(code: string): readonly string[] {
  const clauses = [
    ...code.matchAll(/import (?!type )([^;'"]*?) from ['"]node:https?['"]/gu),
    ...code.matchAll(/const (\w+|\{[^}]*\}) =\s*process\.getBuiltinModule\([^;]*['"]node:https?['"][^;]*\)/gu),
  ].map(([, clause = '']) => clause);
  return clauses.flatMap((clause) => {
    const whole = /^(?:\* as )?(\w+)$/u.exec(clause)?.[1];
    if (whole !== undefined) return [`${whole}.request`, `${whole}.get`];
    return [...clause.matchAll(/\b(?<!type )(?:request|get)\b(?:(?: as |: )(\w+))?/gu)].map(([name, as]) => as ?? name);
  });
}

/** How many requests a file makes, at least, and how many it says that of. */
function requestsIn({ text }: SourceFile): { readonly made: number; readonly covered: number } {
  const code = withoutComments(text);
  const names = requestNames(code);
  const count = (pattern: RegExp): number => [...code.matchAll(pattern)].length;
  const calls = names.reduce((sum, name) => sum + count(new RegExp(`(?<![.\\w#])${name}\\(`, 'gu')), 0);
  return {
    made: names.length === 0 ? 0 : Math.max(1, calls),
    covered: count(/\brefuseUpgrade\(/gu) + count(/\.(?:on|once)\(\s*'upgrade'/gu),
  };
}

test('every request knows what to do when the other side switches protocols', (t) => {
  const files = trackedFiles().filter(({ path }) => PRODUCT.test(path));
  const making = files.filter((file) => requestsIn(file).made > 0);

  t.deepEqual(
    making.filter((file) => requestsIn(file).covered < requestsIn(file).made).map(({ path }) => path),
    [],
  );
  t.true(making.length >= 14, 'they are found');
});

test('no WebSocket is dialled with a limit of silence alone', (t) => {
  const files = trackedFiles().filter(({ path, text }) => PRODUCT.test(path) && /\bnew WebSocket\(/u.test(text));
  const isLimited = ({ text }: SourceFile): boolean => /\bhandshakeWithin\(/u.test(withoutComments(text));

  t.deepEqual(
    files
      .filter((file) => !isLimited(file))
      .map(({ path }) => path)
      .toSorted(),
    LIMITED_OTHERWISE,
  );
});

test('requests are found however they are called', (t) => {
  const made = (text: string): number => requestsIn({ path: 'a.ts', text }).made;

  t.deepEqual(
    [
      "import { request } from 'node:http';\nrequest(url);\nrequest(other);",
      "import { request as send, type IncomingMessage } from 'node:https';\nsend(url).on('error', no);",
      "import { Agent, get } from 'node:http';\nget(url);",
      "import http from 'node:http';\nhttp.get(url); http.request(url);",
      "import * as http from 'node:http';\nhttp.request(url);",
      "const { request: ask } = process.getBuiltinModule(isTls ? 'node:https' : 'node:http');\nask(url);",
      "const http = process.getBuiltinModule('node:http');\nhttp.request(url);",
      "import { request } from 'node:http';\nconst dial = isTls ? other : request;\ndial(url);",
      "import type { request } from 'node:http';",
      "import { createServer, type get } from 'node:http';",
      "import { request } from './own.ts';\nrequest(url);",
    ].map(made),
    [2, 1, 1, 2, 1, 1, 1, 1, 0, 0, 0],
  );
  t.deepEqual(
    requestsIn({ path: 'a.ts', text: "import { get } from 'node:http';\nrefuseUpgrade(get(url));\nget(other);" }),
    { made: 2, covered: 1 },
  );
});

test('every server of HTTP bounds the requests of one connection that wait', (t) => {
  const serves = /import \{[^}]*\bcreateServer\b[^}]*\} from 'node:https?'|import \{[^}]*\bfastify,/u;
  const files = trackedFiles().filter(
    ({ path, text }) => PRODUCT.test(path) && path !== GUIDE && serves.test(withoutComments(text)),
  );

  t.deepEqual(
    files.filter(({ text }) => !/\bboundPipelining\(/u.test(withoutComments(text))).map(({ path }) => path),
    [],
  );
  t.true(files.length >= 7, 'they are found');
});
