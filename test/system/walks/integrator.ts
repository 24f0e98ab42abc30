/** What somebody does who is to connect another system with a fleet. */
import { FLEET_KEYS } from '../../support/fleet.ts';
import type { Walker } from '../../support/walks/walk.ts';

/** curl with the key, as the pages show it. */
const CURL = 'curl -sS -H "Authorization: Bearer $EDGE_API_KEY"';
const API = '$EDGE_URL/api/v1';

/** Two machines. */
export const INTEGRATOR: Walker = {
  name: 'integrator',
  cluster: 'shop',
  machines: [
    { name: 'till-1', labels: 'env=prod' },
    { name: 'till-2', labels: 'env=test' },
  ],
  async walk(walk) {
    const { place } = walk;
    walk.chapter('REST');
    await walk.runs(`export EDGE_URL=${place.url} EDGE_API_KEY=${FLEET_KEYS.MASTER_KEY}`);
    await walk.runs('curl -sS $EDGE_URL/api/v1/nodes | jq -c .error');
    await walk.runs(`${CURL} "${API}/nodes?status=up" | jq -c .error`);
    await walk.runs(`${CURL} "${API}/nodes?labels=env%3Dprod" | jq -c '.data[] | [.name, .status, .labels]'`);
    await walk.runs(`${CURL} "${API}/nodes?page_size=1" | jq -c .meta.pagination`);
    await walk.runs(
      `${CURL} ${API}/commands --json '{"command_text":"app","targeting":{"type":"all","labels":"env in (prod"}}' | jq -c .error`,
    );
    await walk.runs(
      `${CURL} ${API}/commands --json '{"command_text":"app","targeting":{"type":"all","labels":"env=prod"}}' | jq -c '.data.summary'`,
    );
    await walk.runs(
      `until ${CURL} ${API}/commands | jq -e '.data[].summary.succeeded == 1' > result; do sleep 0.1; done`,
    );
    await walk.runs('edge command output $(edge command ls -q)');
    await walk.runs(`${CURL} "${API}/command_executions" | jq -c '.data[] | [.status, .exit_code, .output]'`);

    walk.chapter('What happens, as it happens');
    await walk.runs('edge webhook listen --on edge.core.test,command_execution.completed');
    await walk.begins('edge webhook listen --on edge.core.test,edge.command_execution.completed');
    await walk.hears(/OF WHAT/u);
    await walk.hearsOf('a test event is published', () => place.rest.post('/events/test'), /Z +edge\.core\.test/u);
    await walk.presses('C-c');
    await walk.ends();
    await walk.begins('edge events tail');
    await walk.hears(/OF WHAT/u);
    const command = { command_text: 'app', targeting: { type: 'all', labels: 'env=test' } };
    await walk.hearsOf(
      'somebody runs a command on till-2',
      () => place.rest.post('/commands', command),
      /execution\.completed/u,
    );
    await walk.presses('C-c');
    await walk.ends();
    await walk.runs('edge webhook ls');

    walk.chapter('MCP');
    await walk.runs(`echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' > list.json`);
    await walk.runs(
      `${CURL} $EDGE_URL/mcp -H 'Accept: application/json, text/event-stream' --json @list.json | grep ^data | cut -c 7- > tools`,
    );
    await walk.runs(`jq -c '.result.tools[] | select(.name | test("group")) | [.name, .description]' tools`);

    walk.chapter('Descriptions');
    await walk.runs(`curl -sS $EDGE_URL/api/openapi | jq -c '[.openapi, .info.title]'`);
    await walk.runs(`curl -sS $EDGE_URL/api/asyncapi | jq -c '[.asyncapi, .info.title]'`);
  },
};
