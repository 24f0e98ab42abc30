/** Webhooks by the command line, from end to end: a real admin delivers to the local receiver. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { WebhookDeliveryResource, WebhookResource } from '../../../actors/resources/webhook.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { edgeOf } from './fixture.ts';

const fleet = sharedFleet(test, { env: { WEBHOOK_ALLOW_PRIVATE_IPS: 'true', WEBHOOK_RETRY_BASE_MS: '1' } });

const edge = edgeOf(fleet);

/** Starts a receiver, and names the webhook that it creates, if it does. */
async function listening(t: ExecutionContext, ...args: string[]) {
  const running = edge.start(t, ['webhook', 'listen', ...args]);
  const said = await running.says('stderr', /listening on/u);
  return { running, webhook: /webhook (?<id>\S+) sends/u.exec(said)?.groups?.['id'] ?? '' };
}

/** Deliveries of a webhook of this kind, once there are any. */
const deliveries = (t: ExecutionContext, webhook: string, ...filter: string[]) =>
  until('a delivery', async () => {
    const found = await edge.json<WebhookDeliveryResource[]>(t, ['webhook', 'deliveries', webhook, ...filter]);
    return found.length === 0 ? null : found;
  });

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');

test.serial(
  'a receiver creates its webhook, shows events and redelivered events, and deletes the webhook at its end',
  async (t) => {
    const receiver = await listening(t, '--on', 'all', '--json');

    const published = await edge.json<{ id: string }>(t, 'events test');
    await until('the event', () => receiver.running.stdout.includes(published.id));
    const [delivery] = await deliveries(t, receiver.webhook, '-s', 'delivered', '-t', 'edge.core.test');
    const again = await edge.json<WebhookDeliveryResource[]>(t, ['webhook', 'redeliver', delivery?.id ?? '']);
    await until('the event once more', () => linesOf(receiver.running.stdout).length === 2);
    const tried = await until('the second try', async () => {
      const text = await edge.data(t, ['webhook', 'delivery', delivery?.id ?? '']);
      return /^2 +20.*204/mu.test(text) ? text : null;
    });
    const { status, stdout } = await receiver.running.interrupt();

    t.is(status, 0);
    t.deepEqual(
      linesOf(stdout).map((line) => JSON.parse(line) as unknown),
      [published, published],
    );
    t.deepEqual(
      again.map(({ id }) => id),
      [delivery?.id ?? ''],
    );
    t.regex(tried, /^TRY +AT +MS +ANSWER +ERROR +BODY\n1 /mu);
    t.is((await edge.run(['webhook', 'get', receiver.webhook])).status, 4);
  },
);

test.serial(
  'a secret is made and shown once; with another one the receiver refuses and the log of the delivery says why',
  async (t) => {
    const port = String(await freePort());
    const created = await edge.run(`webhook create http://127.0.0.1:${port}/hook --on edge.core.test -o json`);
    const { secret, ...webhook } = JSON.parse(created.stdout) as WebhookResource & { readonly secret: string };
    const stranger = await listening(t, '--port', port, '--secret', 'another');

    await edge.data(t, 'events test');
    const [dropped] = await deliveries(t, webhook.id, '--status', 'dropped');
    const refusal = await edge.json<WebhookDeliveryResource>(t, ['webhook', 'delivery', dropped?.id ?? '']);
    const strangersEnd = await stranger.running.interrupt();
    const receiver = await listening(t, '--port', port, '--secret', secret);
    await edge.data(t, ['webhook', 'redeliver', dropped?.id ?? '']);
    await until('the event', () => receiver.running.stdout.includes('edge.core.test'));
    await receiver.running.interrupt();

    t.is(created.stderr, 'edge: the secret is shown only now: give it to whoever verifies what arrives\n');
    t.regex(secret, /^whsec_[\w+/]{43}=$/u);
    t.deepEqual(await edge.json(t, ['webhook', 'get', webhook.id]), webhook);
    t.like(refusal.attempts?.[0], {
      status_code: 401,
      response_body:
        'X-Edge-Signature does not fit: the secret is another one, or the body was changed; webhook-signature does not fit: the secret is another one, or id, time or body were changed\n',
    });
    t.deepEqual([strangersEnd.status, strangersEnd.stdout], [0, '']);
    t.regex(strangersEnd.stderr, /refused a request from 127\.0\.0\.1: X-Edge-Signature does not fit/u);
    t.is(await edge.data(t, ['webhook', 'rm', webhook.id]), '');
  },
);

test.serial('a delivery whose event is past its retention is shown, and why it cannot be sent again', async (t) => {
  const receiver = await listening(t, '--on', 'edge.core.test');
  const published = await edge.json<{ id: string }>(t, 'events test');
  const [delivery] = await deliveries(t, receiver.webhook, '-s', 'delivered');
  await fleet().sql('delete from event where id = $1', [published.id]);

  const shown = await edge.json<WebhookDeliveryResource>(t, ['webhook', 'delivery', delivery?.id ?? '']);
  const again = await edge.run(['webhook', 'redeliver', delivery?.id ?? '']);
  await receiver.running.interrupt();

  t.is(shown.event, null);
  t.deepEqual(
    [again.stdout, again.stderr],
    ['', 'edge: The event of this delivery is past its retention: there is nothing to send any more.\n'],
  );
});

test.serial('a receiver that answers 500 sees each try, at an address that was given for it', async (t) => {
  const port = String(await freePort());
  const where = ['--host', '0.0.0.0', '--port', port, '--public-url', `http://127.0.0.1:${port}/`];
  const receiver = await listening(t, '--on', 'edge.core.test', '--status', '500', ...where);

  await edge.data(t, 'events test');
  await until('three tries', () => linesOf(receiver.running.stdout).length === 3);
  const { status, stdout } = await receiver.running.interrupt();

  t.is(status, 0);
  t.is(new Set(linesOf(stdout)).size, 1);
});

test.serial(
  'secrets and headers that were given are not shown, and a webhook is listed until it is removed',
  async (t) => {
    const file = join(temporaryDirectory(t), 'secret');
    writeFileSync(file, 'kept-in-a-file-1234567890\n');

    const created = await edge.data(t, [
      'webhook',
      'create',
      'http://127.0.0.1:44999/',
      '--all',
      '--secret-file',
      file,
      '--header',
      'X-Key: hidden-value',
      '--header',
      'X-Other:more',
    ]);
    const listed = await edge.data(t, 'webhook ls');
    const [one] = await edge.json<WebhookResource[]>(t, 'webhook ls');
    const got = await edge.data(t, ['webhook', 'get', one?.id ?? '']);

    t.false(/kept-in|hidden|X-Key|secret/u.test(created + listed + got + JSON.stringify(one)));
    t.regex(created, /^url +http:\/\/127\.0\.0\.1:44999\/$/mu);
    t.regex(
      listed,
      new RegExp(
        `^ID +URL +CREATED +EVENTS\n${one?.id.slice(0, 8) ?? ''} .* \\d+s +${one?.subscribed_events.length ?? 0} types\n$`,
        'u',
      ),
    );
    t.is(await edge.data(t, ['webhook', 'rm', one?.id ?? '']), '');
    t.deepEqual(await edge.json(t, 'webhook ls'), []);
    const wrong = 'webhook create http://127.0.0.1:44999/ --all --header hidden-value';
    await edge.refuses(t, wrong, 2, /^edge: --header number 1 is none: it should be like 'Name: value'\n$/u);
  },
);

test.serial('types of events are explained, and one that is none is told with the nearest', async (t) => {
  t.regex(
    await edge.data(t, 'events explain edge.node.status_changed'),
    /^edge\.node\.status_changed: .*\n\n\{\n {2}"specversion": "1\.0"/u,
  );
  const line = /^edge: "edge\.node" is no type of event: did you mean edge\.node\.[a-z_]+\?\n$/u;
  for (const words of [
    'events explain edge.node',
    'events tail -t edge.node',
    'webhook listen --on edge.node',
    'webhook create http://127.0.0.1:44999/ --on edge.core.test,edge.node',
  ])
    await edge.refuses(t, words, 2, line);
});

test.serial('a receiver whose reader has gone takes its webhook away too', async (t) => {
  const receiver = await listening(t, '--on', 'edge.core.test');
  receiver.running.process.stdout.destroy();

  await edge.data(t, 'events test');
  if (receiver.running.process.exitCode === null) await once(receiver.running.process, 'exit');

  t.is(receiver.running.process.exitCode, 0);
  t.deepEqual(await edge.json(t, 'webhook ls'), []);
});

test.serial('a webhook that could not be taken away is named, with what to do', async (t) => {
  const admin = fleet().admin();
  const receiver = await listening(t, '--on', 'all');
  await admin.kill();

  const { status, stderr } = await receiver.running.interrupt();
  await admin.start();

  t.is(status, 1);
  t.regex(
    stderr,
    new RegExp(
      `^edge: webhook ${receiver.webhook} could not be deleted: cannot reach .*; then: edge webhook rm ${receiver.webhook}$`,
      'mu',
    ),
  );
  t.is(await edge.data(t, ['webhook', 'rm', receiver.webhook]), '');
});
