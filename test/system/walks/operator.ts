/** What the operator of many small machines does, with three of them. */
import { FLEET_KEYS } from '../../support/fleet.ts';
import type { Walker } from '../../support/walks/walk.ts';

/** Starts the agent of a box in the background, as a service manager would. */
const START = 'start() { (AGENT_DATA_DIR=$PWD/$1 AGENT_ALIASES=$1 edge-agent up > $1.log 2>&1 & echo $! > $1.pid); }';

/** No machine is there before. */
export const OPERATOR: Walker = {
  name: 'operator',
  cluster: 'plant',
  machines: [],
  async walk(walk) {
    const { place } = walk;
    walk.chapter('One key for all');
    await walk.runs(`export EDGE_URL=${place.url} EDGE_API_KEY=${FLEET_KEYS.MASTER_KEY}`);
    await walk.runs('edge cluster create plant -o id');
    await walk.runs('edge key create plant --uses 500 --expires 30d -l site=hall-3 > key');
    await walk.runs('edge key ls');

    walk.chapter('Machines join');
    await walk.runs(START);
    await walk.runs('export ENROLLMENT_KEY=$(cat key)');
    await walk.runs('for box in box-1 box-2 box-3; do start $box; done');
    await walk.runs('edge wait box-1 box-2 box-3 --timeout 1m 2> /dev/null');
    await walk.runs('edge node ls');
    await walk.runs('edge node ls -l site=hall-3 -q | wc -l');
    await walk.runs("edge key ls -o json | jq -c '.[] | [.uses_remaining, .labels]'");
    await walk.runsUntil(/pass +node_round_trip/u, 'edge doctor box-1 | grep node_');

    walk.chapter('A machine is off for a while');
    await walk.runs('kill $(cat box-2.pid); edge wait box-2 --for unreachable --timeout 1m');
    await walk.runs('edge node ls');
    await walk.runs('edge run -c plant -b -- uname -s');
    await walk.runs('start box-2; edge wait box-2 --timeout 1m');
    await walk.runs("until edge command ls -o json | jq -e '.[].summary.succeeded == 3' > result; do sleep 0.1; done");
    await walk.runs('edge command output -b $(edge command ls -q)');

    walk.chapter('Slips');
    await walk.runs('AGENT_DATA_DIR=$PWD/new ENROLLMENT_KEY=abc edge-agent up');
    await walk.runs('AGENT_DATA_DIR=$PWD/new AGENT_LABELS=hall edge-agent up');
    await walk.runs('edge key create plan');

    walk.chapter('A machine leaves');
    await walk.runs('kill $(cat box-3.pid); AGENT_DATA_DIR=$PWD/box-3 edge-agent leave');
    await walk.runs('edge node ls');
    await walk.runs('edge cluster rm plant');
  },
};
