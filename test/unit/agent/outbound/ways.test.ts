/** Every connection of an agent to an admin goes through the proxy of its settings: by plain HTTP and by TLS. */
import { randomUUID } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { beginRecording } from '../../../../agent/access/ssh/recording/recorder.ts';
import { RecordingSpool } from '../../../../agent/access/ssh/recording/spool.ts';
import { RecordingUploads } from '../../../../agent/access/ssh/recording/upload.ts';
import { AgentTunnels } from '../../../../agent/access/tunnel/tunnels.ts';
import { removeNode } from '../../../../agent/node-removal.ts';
import { askAdmins } from '../../../../agent/observability/doctor/admin-answers.ts';
import { ReportUpload } from '../../../../agent/observability/doctor/report-upload.ts';
import { askStanding } from '../../../../agent/observability/doctor/standing.ts';
import { postJson } from '../../../../agent/outbound/http-exchange.ts';
import { createOutbound, type Outbound } from '../../../../agent/outbound/outbound.ts';
import { webSocketDial } from '../../../../agent/session/dial.ts';
import { listening } from '../../../support/net/listening.ts';
import { silentLog } from '../../../support/log.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

const TOKEN = 'a-token-of-the-tests-1234567890';

/** Goes to the admin at this URL; what becomes of it shows at the proxy. */
type Way = (t: ExecutionContext, url: string, outbound: Outbound) => unknown;

/** What an agent asks of admins. */
const WAYS: Readonly<Record<string, Way>> = {
  enrolment: (_t, url, outbound) => postJson(url, {}, { agent: outbound.agentFor(url) }).catch(() => {}),
  'the removal of its node': (_t, url, outbound) => removeNode([url], TOKEN, outbound),
  "the doctor's look": (_t, url, outbound) => askAdmins([url], AbortSignal.timeout(60_000), outbound),
  'the question whether its node is known': (_t, url, outbound) =>
    askStanding({ adminUrls: [url], token: TOKEN, outbound }, AbortSignal.timeout(60_000)),
  'its session': (_t, url, outbound) =>
    webSocketDial({}, outbound)(url, TOKEN, { opened() {}, message() {}, closed() {} }),
  'a tunnel': (t, url, outbound) => {
    const tunnels = new AgentTunnels({
      egress: { dial: () => Promise.reject(new Error('nobody is dialled')) },
      join: () => {},
      outbound,
      log: silentLog,
    });
    t.teardown(() => tunnels.close());
    tunnels.open([url], TOKEN);
  },
  'a report on its machine': (t, url, outbound) => {
    const upload = new ReportUpload({
      diagnose: async () => ({ overall: 'pass', collected_at: new Date().toISOString(), checks: [] }),
      outbound,
      token: TOKEN,
      clock: {
        nowMs: () => 0,
        after(_ms, act) {
          const soon = setImmediate(act);
          return () => clearImmediate(soon);
        },
      },
      random: () => 0,
      log: silentLog,
    });
    t.teardown(() => upload.close());
    upload.connected(url);
  },
  'a recording': (t, url, outbound) => {
    const spool = new RecordingSpool(temporaryDirectory(t));
    const uploads = new RecordingUploads({
      spool,
      outbound,
      token: TOKEN,
      clock: { after: () => () => {} },
      random: () => 0,
      log: silentLog,
    });
    t.teardown(() => uploads.close());
    spool.onFinished = () => uploads.wake();
    uploads.start(url);
    beginRecording(
      { spool, settings: () => ({ mode: 'all', bytes_max: 65_536, ms_max: 60_000 }) },
      { usernameId: randomUUID(), username: 'ada', command: null, shell: '/bin/sh', terminal: null },
    )?.end();
  },
};

for (const [name, go] of Object.entries(WAYS))
  for (const scheme of ['http', 'https'] as const)
    test(`${name} goes through the proxy to an ${scheme} admin`, async (t) => {
      const asked: string[] = [];
      const port = await listening(
        t,
        createServer((socket: Socket) => {
          socket.on('error', () => {});
          socket.once('data', (data: Buffer) => {
            asked.push(data.toString('latin1').split('\r\n')[0] ?? '');
            socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
          });
        }),
      );
      const proxy = `http://127.0.0.1:${port}`;

      void go(t, `${scheme}://edge.proxied.test:44000`, createOutbound({ HTTP_PROXY: proxy, HTTPS_PROXY: proxy }));

      await until('it asks the proxy', () => asked.length > 0);
      t.is(asked[0], 'CONNECT edge.proxied.test:44000 HTTP/1.1');
    });
