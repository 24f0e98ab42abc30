/** The AsyncAPI document. */
import { Parser } from '@asyncapi/parser';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import test from 'ava';
import { EVENT_TYPES, type Envelope } from '../../../../actors/events.ts';
import { TOPICS, topicOf } from '../../../../actors/event-topics.ts';
import { asyncApi } from '../../../../api/docs/asyncapi.ts';
import { serveApi } from '../../../support/api/fakes.ts';

type Json = Record<string, unknown>;

/** The parser leaves examples alone. */
const ajv = formats.default(new Ajv({ strict: true, allowUnionTypes: true }));

const parser = new Parser();

/** The parser takes the document as a client gets it. */
async function parsed(document: object) {
  const { document: model, diagnostics } = await parser.parse(JSON.stringify(document));
  return { model, problems: diagnostics.map(({ path }) => path.join('.')) };
}

/** One parse is near a second of work, so it is shared. */
const parsing = parsed(asyncApi('north'));

test('the document is valid AsyncAPI 3.1.0 without a remark', async (t) => {
  const { model, problems } = await parsing;

  t.deepEqual(problems, []);
  t.is(model?.version(), '3.1.0');
});

test('it is served to everyone, with the version of the catalogue and the name of this installation', async (t) => {
  const { request } = await serveApi(t, { operations: { coreName: 'north' }, settings: { version: '1.2.3' } });

  const { status, headers, body } = await request('GET', '/api/asyncapi', { headers: { authorization: '' } });

  t.deepEqual([status, headers.get('content-type')], [200, 'application/json; charset=utf-8']);
  t.deepEqual(body as unknown, JSON.parse(JSON.stringify(asyncApi('north'))));
  t.is((body as unknown as { readonly info: { readonly version: string } }).info.version, '0.2.0');
});

test('the parser sees what is wrong: an unknown field, a message of another channel, a channel that is none', async (t) => {
  const wrong = JSON.parse(JSON.stringify(asyncApi('default'))) as {
    info: Json;
    operations: Record<string, { messages: Json[]; channel: Json }>;
  };
  wrong.info['titel'] = 'x';
  wrong.operations['send.webhook']!.messages[0] = { $ref: '#/channels/mqtt/messages/edge.core.test' };
  wrong.operations['send.mqtt']!.channel = { $ref: '#/servers/mqtt' };

  const { problems } = await parsed(wrong);

  for (const path of ['info.titel', 'operations.send.webhook.messages.0', 'operations.send.mqtt.channel'])
    t.true(
      problems.some((problem) => problem.startsWith(path)),
      path,
    );
});

for (const type of EVENT_TYPES) {
  test(`the example of ${type} keeps to its payload schema, which takes no field more and none less`, (t) => {
    const { components } = asyncApi('default') as {
      components: {
        schemas: Record<string, object>;
        messages: Record<string, { examples: readonly { payload: Envelope }[] }>;
      };
    };
    const validate = ajv.compile(components.schemas[type] ?? false);
    const payload = components.messages[type]?.examples[0]?.payload;
    const withData = (data: object) => validate({ ...payload, data: { ...payload?.data, ...data } });

    t.true(validate(payload), ajv.errorsText(validate.errors));
    t.false(withData({ more: 1 }));
    for (const field of Object.keys(payload?.data ?? {})) t.false(withData({ [field]: undefined }), field);
    t.false(validate({ ...payload, time: 'yesterday' }));
    t.false(validate({ ...payload, more: 1 }));
  });
}

test('every type is a message that is sent to webhooks, by its own name, and in its topic', async (t) => {
  const { model } = await parsing;
  const operations = model?.operations().all() ?? [];
  const sentBy = (key: string) =>
    operations
      .find((operation) => operation.id() === `send.${key}`)
      ?.messages()
      .all()
      .map((message) => message.name() ?? '') ?? [];

  t.true(operations.every((operation) => operation.action() === 'send'));
  t.deepEqual(
    model
      ?.components()
      .messages()
      .all()
      .map((message) => message.id())
      .toSorted(),
    EVENT_TYPES.toSorted(),
  );
  t.deepEqual(sentBy('webhook'), [...EVENT_TYPES]);
  t.deepEqual(sentBy('mqtt'), [...EVENT_TYPES]);
  for (const type of EVENT_TYPES) t.deepEqual(sentBy(type), [type]);
  for (const topic of TOPICS)
    t.deepEqual(
      sentBy(topic),
      EVENT_TYPES.filter((type) => topicOf(type) === topic),
    );
  t.deepEqual(model?.channels().get('webhook')?.address(), null);
  t.true(
    operations
      .flatMap((operation) => operation.messages().all())
      .every((message) => message.contentType() === 'application/cloudevents+json'),
  );
});

test('the message of a webhook has the headers of both signatures; those of brokers have none of ours', async (t) => {
  const { model } = await parsing;
  const headersIn = (channel: string) =>
    model?.channels().get(channel)?.messages().get('edge.core.test')?.headers()?.required() ?? null;

  t.deepEqual(headersIn('webhook'), ['X-Edge-Signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature']);
  t.is(headersIn('edge.core.test'), null);
});

test('payloads are the exact fields of the catalogue, with null beside the type where it may be', (t) => {
  const { components } = asyncApi('default') as {
    components: { schemas: Record<string, { properties: { data: Json } }> };
  };

  t.deepEqual(components.schemas['edge.enrollment_key.verified']?.properties.data, {
    type: 'object',
    properties: {
      enrollment_key_id: { type: ['string', 'null'], format: 'uuid', description: 'The key.' },
      cluster_name: { type: ['string', 'null'], description: 'Its cluster.' },
      name: { type: ['string', 'null'], description: 'Its name. Null when it has none.' },
      uses_remaining: {
        type: ['integer', 'null'],
        minimum: 0,
        description: 'Uses left after this attempt. Null when it is unlimited.',
      },
      result: {
        type: 'string',
        enum: ['verified', 'invalid_key', 'key_expired', 'key_spent', 'node_limit_reached'],
        description: 'What became of the attempt. All of the above are null when it is invalid_key.',
      },
      verified_at: { type: 'string', format: 'date-time', description: 'When it was tried.' },
    },
    required: ['enrollment_key_id', 'cluster_name', 'name', 'uses_remaining', 'result', 'verified_at'],
    additionalProperties: false,
  });
});
