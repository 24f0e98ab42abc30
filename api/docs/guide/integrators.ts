/** `/guide/integrators`. */
import { assistants } from './assistants.ts';
import { fleetGo, RECEIVER_GO } from './examples/go.ts';
import { fleetPy, RECEIVER_PY } from './examples/python.ts';
import { routesOf } from './examples/routes.ts';
import { EVENTS_TS, FLEET_TS, RECEIVER_TS } from './examples/typescript.ts';
import { knowsAdmin, type Block, type GuideFacts, type GuidePage, type Section } from './page.ts';

/** Why the commands beside the programs are not pasted with the other pages. */
const RUN_ELSEWHERE = 'the program above is run by a test of its own';

/** The page. */
export function integratorsPage(facts: GuideFacts): GuidePage {
  const route = routesOf(facts.operations);
  return {
    name: 'Integrators',
    title: 'Integrators',
    lead: 'How a program of yours reads the fleet, runs scripts, follows events and verifies webhooks, and how an assistant does.',
    sections: [
      { title: 'Before you begin', blocks: knowsAdmin(facts) },
      typescript(facts),
      inLanguage('Python', 'Python 3.9 or later; there is nothing to install.', [
        ['fleet.py', fleetPy(route), 'python3 fleet.py'],
      ]),
      inLanguage('Go', 'Go 1.19 or later, with its standard library alone.', [
        ['fleet.go', fleetGo(route), 'go run fleet.go'],
      ]),
      WEBHOOKS,
      OTHER_LANGUAGES,
      WHAT_TO_KNOW,
      ...assistants(facts),
    ],
  };
}

const PRINTS = 'healthy: 1\nweb-1: hello from Linux (exit 0)';

function program(name: string, content: string, command: string, more: object = {}): readonly Block[] {
  return [
    { kind: 'file', name, content },
    { kind: 'shell', commands: command, untested: RUN_ELSEWHERE, ...more },
  ];
}

function inLanguage(
  title: string,
  text: string,
  programs: readonly (readonly [name: string, content: string, command: string])[],
): Section {
  return {
    title,
    blocks: [
      { kind: 'text', text },
      ...programs.flatMap(([name, content, command]) => program(name, content, command, { prints: PRINTS })),
    ],
  };
}

function typescript({ version }: GuideFacts): Section {
  return {
    title: 'TypeScript',
    blocks: [
      {
        kind: 'text',
        text: 'The client has every operation with its types, live feeds and the verification of webhooks. It brings nothing else along, and runs in Node 22.18 or later and in browsers. It is in no registry yet: in a clone of the repository, `npm ci && npm run build && npm pack ./dist/client` makes this file.',
      },
      {
        kind: 'shell',
        commands: `npm install ./edge-fleet-control-client-${version}.tgz`,
        untested: 'a test of its own installs the client',
      },
      ...program('fleet.mts', FLEET_TS, 'node fleet.mts', { prints: PRINTS }),
      {
        kind: 'text',
        text: 'Live feeds come over one WebSocket. It is opened again when it is lost, and goes on after the last event that came. Nodes, the state of a command and the output of an execution are followed in the same way.',
      },
      ...program('events.mts', EVENTS_TS, 'node events.mts', { lasts: 'later', prints: 'following\nedge.core.test …' }),
      {
        kind: 'text',
        text: 'For a tRPC client of your own there is the type of the router in `@edge-fleet-control/client/router`, served at `/api/trpc` over HTTP, server-sent events and WebSocket. The first message of a WebSocket carries the key, as `connectionParams: { authorization: "Bearer …" }`.',
      },
    ],
  };
}

const WEBHOOKS: Section = {
  title: 'Webhooks',
  blocks: [
    {
      kind: 'text',
      text: 'A receiver checks the signature over id, time and body, then answers 2xx at once and works later. [Libraries of Standard Webhooks](/guide/events#a-webhook-to-a-service) do the same in a dozen languages. In TypeScript:',
    },
    ...program('receiver.mts', RECEIVER_TS, 'WEBHOOK_SECRET=whsec_… node receiver.mts', { lasts: 'later' }),
    { kind: 'text', text: 'In Python:' },
    ...program('receiver.py', RECEIVER_PY, 'WEBHOOK_SECRET=whsec_… python3 receiver.py', { lasts: 'later' }),
    { kind: 'text', text: 'In Go:' },
    ...program('receiver.go', RECEIVER_GO, 'WEBHOOK_SECRET=whsec_… go run receiver.go', { lasts: 'later' }),
    {
      kind: 'text',
      text: 'The secret is shown once, when `edge webhook create` makes the webhook. An event comes at least once: drop those whose `id` you have seen.',
    },
  ],
};

const OTHER_LANGUAGES: Section = {
  title: 'Other languages',
  blocks: [
    {
      kind: 'text',
      text: 'The [OpenAPI 3.1 document](/api/openapi) has every operation, every answer and every refusal, the [AsyncAPI document](/api/asyncapi) every event. Types for openapi-fetch are in `@edge-fleet-control/client/openapi` already.',
    },
    {
      kind: 'shell',
      commands: 'curl -sS "$EDGE_URL/api/openapi" -o openapi.json && head -c 40 openapi.json',
      prints: '{"openapi":"3.1.0","info":{"title":"Edge…',
    },
  ],
};

const WHAT_TO_KNOW: Section = {
  title: 'What to know',
  blocks: [
    {
      kind: 'list',
      items: [
        'A create with an `Idempotency-Key` can be sent again after a lost connection: the same key and body create one thing.',
        '429 and 503 carry `Retry-After` in seconds. All else that is refused stays refused.',
        'Lists have at most 100 rows a page: follow `meta.pagination.next_page`. Filters and orders are in the [reference](/api/docs).',
        'A refusal has a `code` to decide by, a `message` for people and `details` by field. Log `X-Request-Id`: the log of the admin has more under it.',
        'Ids never change; the `name` of a node is for people and not unique.',
      ],
    },
  ],
};
