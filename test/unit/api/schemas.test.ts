/**
 * Documentation and validation are one: what the JSON Schemas refuse is refused, and what they take is taken as far as
 * a schema can say.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import test from 'ava';
import * as fc from 'fast-check';
import { catalogue } from '../../../api/catalogue.ts';
import type { AnyOperation } from '../../../api/operation.ts';
import { inputSchema } from '../../../api/schemas.ts';
import { newKey } from '../../support/ssh/ssh-keys.ts';
import { SOME_ID } from '../../support/api/fakes.ts';
import { inputs } from '../../support/api/hostile.ts';

const ajv = formats.default(new Ajv2020({ strict: false }));
const key = `ssh-ed25519 ${newKey().blob}`;
const webhook = { url: 'https://example.com/', secret: 's', subscribed_events: ['edge.core.test'] };
const command = { command_text: 'true', targeting: { type: 'all' } };

/** Inputs that were documented and refused, or are the nearest to them that is taken. */
const CASES: readonly (readonly [string, AnyOperation, object, boolean])[] = [
  [
    'a key that ends in this century',
    catalogue.create_enrollment_key,
    { cluster_name: 'one', expired_at: '2030-01-01T00:00:00Z' },
    true,
  ],
  [
    'the first second, in any zone',
    catalogue.create_enrollment_key,
    { cluster_name: 'one', expired_at: '1970-01-01T00:00:00+14:00' },
    true,
  ],
  [
    'the last second, in any zone',
    catalogue.create_enrollment_key,
    { cluster_name: 'one', expired_at: '9999-12-31T23:59:59-14:00' },
    true,
  ],
  [
    'an instant before 1970',
    catalogue.create_enrollment_key,
    { cluster_name: 'one', expired_at: '1969-12-31T23:59:59Z' },
    false,
  ],
  ['a name with a NUL', catalogue.create_enrollment_key, { cluster_name: 'one', name: 'a\u0000b' }, false],
  ['a date before 1970 in a filter', catalogue.list_nodes, { inserted_at__gte: '1969-12-31' }, false],
  ['a date in a filter', catalogue.list_nodes, { inserted_at__gte: '1970-01-01' }, true],
  ['a filter with a NUL', catalogue.list_nodes, { version: '\u0000' }, false],
  ['a script with a NUL', catalogue.create_command, { ...command, command_text: 'a\u0000' }, false],
  [
    'a date before 1970 in a targeting',
    catalogue.create_command,
    { ...command, targeting: { type: 'all', node_filters: { last_seen_at__lte: '1960-01-01T00:00:00Z' } } },
    false,
  ],
  ['a targeting of nodes without any', catalogue.create_command, { ...command, targeting: { type: 'nodes' } }, false],
  [
    'a targeting of all with some',
    catalogue.create_command,
    { ...command, targeting: { type: 'all', node_ids: [SOME_ID] } },
    false,
  ],
  [
    'a targeting of nodes',
    catalogue.create_command,
    { ...command, targeting: { type: 'nodes', node_ids: [SOME_ID.toUpperCase()] } },
    true,
  ],
  ['types of events', catalogue.create_webhook, webhook, true],
  [
    'a type of event that is named twice',
    catalogue.create_webhook,
    { ...webhook, subscribed_events: ['edge.core.test', 'edge.core.test'] },
    false,
  ],
  ['a header', catalogue.create_webhook, { ...webhook, headers: { 'X-Api-Key': 'a b' } }, true],
  ['a header with a line break', catalogue.create_webhook, { ...webhook, headers: { 'X-Api-Key': 'a\nb' } }, false],
  ["a header that is this service's", catalogue.create_webhook, { ...webhook, headers: { 'x-Edge-Key': 'a' } }, false],
  ['a key', catalogue.create_ssh_public_key, { id: SOME_ID, key_name: 'x', public_key: `${key} me@home` }, true],
  ['an empty key', catalogue.create_ssh_public_key, { id: SOME_ID, key_name: 'x', public_key: '' }, false],
  [
    'a key of another kind',
    catalogue.create_ssh_public_key,
    { id: SOME_ID, key_name: 'x', public_key: key.replace('ssh-ed25519', 'ssh-dss') },
    false,
  ],
  ['a reserved name', catalogue.create_cluster, { name: 'default' }, false],
  ['a range that is too wide', catalogue.create_cluster, { name: 'one', ipv4_range: '10.0.0.0/7' }, false],
  ['a range that is none', catalogue.create_cluster, { name: 'one', ipv6_range: '' }, false],
  ['a range of nobody', catalogue.create_cluster, { name: 'one', ipv6_range: '2001:db8::/64' }, false],
  [
    'ranges',
    catalogue.create_cluster,
    { name: 'one', ipv4_range: '10.9.0.0/16', ipv6_range: 'fd12:3456:789a:1::/64' },
    true,
  ],
];

for (const [what, operation, input, isRight] of CASES) {
  test(`${operation.name}: ${what} is ${isRight ? 'taken' : 'refused'} by documentation and validation alike`, (t) => {
    t.deepEqual(
      [ajv.validate(inputSchema(operation), input), operation.input.safeParse(input).success],
      [isRight, isRight],
    );
  });
}

test('nothing that validation takes is refused by documentation', (t) => {
  for (const operation of Object.values(catalogue) as AnyOperation[]) {
    const isDocumented = ajv.compile(inputSchema(operation));
    fc.assert(
      fc.property(inputs(operation), (input) => {
        if (!operation.input.safeParse(input).success) return;
        // numbers and flags of a query come as text as well, of which documentation has its own words
        const asTyped = JSON.stringify(input);
        if (!isDocumented(input))
          t.true(
            /"(?:true|false|-?\d+|[^"]*,[^"]*|[a-z_-]+)"/u.test(asTyped) && operation.rest?.method !== 'POST',
            `${operation.name} ${asTyped} ${JSON.stringify(isDocumented.errors)}`,
          );
      }),
      { numRuns: 200 },
    );
  }
});
