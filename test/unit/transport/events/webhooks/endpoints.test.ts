import test from 'ava';
import { createGuard } from '../../../../../transport/net/outbound-guard/guard.ts';
import { createEndpoints } from '../../../../../transport/events/webhooks/endpoints.ts';
import { ENDPOINT_IDLE_MS_MAX, ENDPOINTS_MAX } from '../../../../../transport/events/webhooks/limits.ts';
import { vault, webhookTo } from '../../../../support/webhooks/webhook-receivers.ts';

function endpointsAt(now: { ms: number }): {
  readonly endpoints: ReturnType<typeof createEndpoints>;
  opened: () => number;
} {
  let opened = 0;
  const endpoints = createEndpoints({
    vault: {
      ...vault,
      open: (sealed, boundTo) => {
        opened += 1;
        return vault.open(sealed, boundTo);
      },
    },
    connect: createGuard({ allowPrivate: true }).connector(),
    connectionsMax: 1,
    userAgent: 'test',
    monotonicMs: () => now.ms,
  });
  return { endpoints, opened: () => opened };
}

const webhook = (id: string) => webhookTo('http://127.0.0.1:1/', { id });

test('a secret is opened once while its webhook is in use, and again after it was cut', async (t) => {
  const { endpoints, opened } = endpointsAt({ ms: 0 });

  t.is(endpoints.of(webhook('a')), endpoints.of(webhook('a')));
  t.is(opened(), 2); // the secret and the headers
  endpoints.cut('a');
  t.is(endpoints.size, 0);
  endpoints.of(webhook('a'));
  t.is(opened(), 4);

  await endpoints.close();
  t.is(endpoints.size, 0);
});

test('what is not used for long is forgotten, unless a request is under way', async (t) => {
  const now = { ms: 0 };
  const { endpoints } = endpointsAt(now);
  endpoints.of(webhook('idle'));
  endpoints.of(webhook('busy')).users = 1;
  now.ms = 1;
  endpoints.of(webhook('used'));

  now.ms = ENDPOINT_IDLE_MS_MAX;
  endpoints.sweep();

  t.is(endpoints.size, 2);
  endpoints.cut('busy');
  endpoints.cut('used');
  t.is(endpoints.size, 0);
  await endpoints.close();
});

test('endpoints are no more than their limit: the one that was used longest ago goes', async (t) => {
  const now = { ms: 0 };
  const { endpoints, opened } = endpointsAt(now);
  const sealed = webhook('same');
  for (let count = 0; count < ENDPOINTS_MAX; count += 1) {
    now.ms = count;
    endpoints.of(webhook(`w${count}`));
  }
  now.ms += 1;
  endpoints.of(webhook('w0'));
  endpoints.of(sealed);
  const before = opened();

  t.is(endpoints.size, ENDPOINTS_MAX);
  endpoints.of(webhook('w0'));
  t.is(opened(), before, 'it is still there');
  endpoints.of(webhook('w1'));
  t.is(opened(), before + 2, 'it had gone');
  t.is(endpoints.size, ENDPOINTS_MAX);
  await endpoints.close();
});
