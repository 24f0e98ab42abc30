/**
 * Web servers that people reach through the HTTP proxies of an admin and of an agent, and that answer with anything:
 * neither program notices.
 */
import { request } from 'node:http';
import test from 'ava';
import { forEachAnswer, hostileAnswers, openHostileTarget } from '../../support/net/hostile-answers.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { FORWARD } from '../../support/net/reach-fixture.ts';

const fleet = sharedFleet(test, {
  agents: 1,
  agentEnv: { PROXY_CUSTOM_ALLOWED_HOSTS: '127.0.0.1', AGENT_PROXY_AUTH_ENABLED: 'false' },
});

/** Exchanges at a time. */
const AT_ONCE = 50;

/** What an HTTP client makes of an answer: its status and body, or null where it broke off. */
function answerThrough(
  proxyPort: number,
  url: string,
): Promise<{ readonly status: number | undefined; readonly body: string } | null> {
  return new Promise((resolve) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port: proxyPort,
        path: url,
        agent: false,
        headers: { 'proxy-authorization': `Basic ${Buffer.from(FORWARD).toString('base64')}` },
      },
      (response) => {
        let body = '';
        response
          .setEncoding('latin1')
          .on('data', (text: string) => {
            body += text;
          })
          .on('end', () => resolve({ status: response.statusCode, body }))
          .on('error', () => resolve(null));
      },
    );
    sent
      .on('error', () => resolve(null))
      .on('upgrade', (_response, socket) => {
        socket.destroy();
        resolve(null);
      })
      .end();
  });
}

for (const side of ['admin', 'agent'] as const) {
  test.serial(
    `a thousand hostile answers through the HTTP proxy of the ${side} leave both programs running, and commands go on`,
    async (t) => {
      const answers = hostileAnswers();
      const port = await openHostileTarget(t, answers);
      const { vpn_hostname: name, http_proxy_port: agentPort } = await fleet().node();
      const [proxyPort, host] = side === 'admin' ? [fleet().admin().httpProxyPort, name] : [agentPort, '127.0.0.1'];
      const heard: number[] = [];

      await forEachAnswer(answers, AT_ONCE, async (index) => {
        heard[index] = (await answerThrough(proxyPort, `http://${host}:${port}/${index}`))?.status ?? 0;
      });

      t.deepEqual(await answerThrough(proxyPort, `http://${host}:${port}/well`), { status: 200, body: 'well' });
      t.true(heard.filter((status) => status === 200).length > 256, 'the honest part of an answer arrives');
      const [execution] = await fleet().settled(await fleet().run('echo well'));
      t.is(execution?.output, 'well\n');
      for (const { program } of [fleet().admin(), fleet().agent()]) {
        t.is(program.exit, null);
        t.deepEqual(
          program
            .lines()
            .filter(({ level, msg }) => level === 'error' || level === 'fatal' || /broke off/u.test(String(msg))),
          [],
        );
      }
    },
  );
}
