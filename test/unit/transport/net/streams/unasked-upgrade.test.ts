/** Servers that answer any request by another protocol: whoever asked hears of it, and waits no longer. */
import { createServer } from 'node:net';
import { Readable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { RecordingUploads } from '../../../../../agent/access/ssh/recording/upload.ts';
import type { FinishedRecording } from '../../../../../agent/access/ssh/recording/spool.ts';
import { askAdmins } from '../../../../../agent/observability/doctor/admin-answers.ts';
import { portChecks } from '../../../../../agent/observability/doctor/services.ts';
import { deleteAt, postJson } from '../../../../../agent/outbound/http-exchange.ts';
import { readBytes } from '../../../../../agent/updater/mirror.ts';
import { UpdateProblem } from '../../../../../agent/updater/problem.ts';
import { isAnswerLost, plainFetch } from '../../../../../cli/service/plain-fetch.ts';
import { createVet } from '../../../../../transport/net/outbound-guard/vetting.ts';
import { UnaskedUpgrade } from '../../../../../transport/net/streams/unasked-upgrade.ts';
import { measureRegions } from '../../../../../transport/vpn/derp/home.ts';
import { fetchMap } from '../../../../../transport/vpn/relay-map/map-source.ts';
import { createFakeClock } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/log.ts';
import { listening } from '../../../../support/net/listening.ts';
import { sayingRelay } from '../../../../support/vpn/relay.ts';

const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n';
const WELL = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

/** What whoever asks is told of it. */
const OTHER_PROTOCOL = new UnaskedUpgrade().message;

/** A limit of a question that nothing here reaches, in ms: what is tested comes at once, or never. */
const ANSWER_MS_MAX = 60_000;

async function switching(t: ExecutionContext): Promise<{ readonly url: string; readonly port: number }> {
  const port = await listening(
    t,
    createServer((socket) => void socket.once('data', () => socket.write(SWITCHED))),
  );
  return { url: `http://127.0.0.1:${port}`, port };
}

test('a mirror that switches protocols gives an updater nothing, which goes on', async (t) => {
  const { url } = await switching(t);

  const error = await t.throwsAsync(readBytes(url, 1_000, { agentFor: () => false, answerMsMax: ANSWER_MS_MAX }));

  t.true(error instanceof UpdateProblem);
  t.is(error.message, `${url}: ${OTHER_PROTOCOL}`);
});

test('a URL of a relay map that switches protocols gives none', async (t) => {
  const { url } = await switching(t);

  t.deepEqual(await fetchMap(url, { vet: createVet({ allowPrivate: true }), trusted: () => [url] }), {
    ok: false,
    problem: 'it cannot be read',
  });
});

test('a relay that switches protocols has no latency, and the others have theirs', async (t) => {
  const relays = [await sayingRelay(t, (socket) => void socket.write(SWITCHED)), await sayingRelay(t, answersWell)];
  const regions = new Map(relays.map((region, index) => [index + 1, { ...region, id: index + 1 }]));

  const latencies = await measureRegions({ regions }, { vet: createVet({ allowPrivate: true, allowLoopback: true }) });

  t.deepEqual([...latencies.keys()], [2]);
});

function answersWell(socket: NodeJS.WritableStream): void {
  socket.end(WELL);
}

test('an admin that switches protocols is no admin to an agent that enrols or leaves', async (t) => {
  const { url } = await switching(t);

  await t.throwsAsync(postJson(url, {}), { message: OTHER_PROTOCOL });
  await t.throwsAsync(deleteAt(url), { message: OTHER_PROTOCOL });
});

test('the doctor says of an admin that switches protocols that it speaks no HTTP', async (t) => {
  const { url } = await switching(t);

  const [answer] = await askAdmins([url], AbortSignal.timeout(ANSWER_MS_MAX));

  t.like(answer, { status: null, problem: 'it does not speak HTTP' });
});

test('the doctor says of a port of the agent that switches protocols that nothing answers there', async (t) => {
  const { port } = await switching(t);
  const ports = { http_port: port, host_metrics_port: port, wireguard_metrics_port: port };
  const checks = portChecks({
    services: () => [],
    session: () => ({ isLive: true, refusal: null, adminUrl: null, sinceMs: null }),
    journal: () => ({ waiting: 0, started: 0, unconfirmed: 0 }),
    ports: () => ports,
    proxyHosts: ['127.0.0.1'],
    isProxyEnabled: false,
    openProxies: null,
  });

  const finding = await checks.find(({ name }) => name === 'exporters')?.look(AbortSignal.timeout(ANSWER_MS_MAX));

  t.is(
    finding?.summary,
    'The server api does not answer; the server host_metrics does not answer; the server wireguard_metrics does not answer.',
  );
});

test('a recording that an admin answers by another protocol is tried again, and a stop does not wait for it', async (t) => {
  const { url } = await switching(t);
  const log = recordingLog();
  const recording = { id: 'a', bytes: 3 } as FinishedRecording;
  const uploads = new RecordingUploads({
    spool: { list: () => [recording], read: () => Readable.from([Buffer.from('abc')]), remove() {} },
    token: 'token',
    clock: createFakeClock(0),
    random: () => 0,
    log,
  });

  uploads.start(url);
  const { fields } = await log.seen(/was not uploaded/u);
  await uploads.close();

  t.deepEqual(fields, { recording: 'a', problem: OTHER_PROTOCOL });
});

test('a service that switches protocols fails a call of edge; of one that changes something it is not known what became', async (t) => {
  const { url } = await switching(t);

  const read = await t.throwsAsync(plainFetch(url, {}, ANSWER_MS_MAX));
  const changed = await t.throwsAsync(plainFetch(url, { method: 'POST', body: '{}' }, ANSWER_MS_MAX));

  t.deepEqual([read.message, isAnswerLost(read), isAnswerLost(changed)], [OTHER_PROTOCOL, false, true]);
});
