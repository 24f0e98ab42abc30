/** What an SRE does with a fleet on the first day. */
import { FLEET_KEYS } from '../../support/fleet.ts';
import type { Walker } from '../../support/walks/walk.ts';

/** Four machines, one with an older version of what runs there and one on which it is broken. */
export const SRE: Walker = {
  name: 'sre',
  cluster: 'prod',
  machines: [
    { name: 'web-1', labels: 'env=prod,tier=web' },
    { name: 'web-2', labels: 'env=prod,tier=web' },
    { name: 'db-1', labels: 'env=prod,tier=db', app: { says: 'app 1.3.9', status: 0 } },
    { name: 'lab-1', labels: 'env=lab', app: { says: 'app: the configuration is damaged', status: 3 } },
  ],
  async walk(walk) {
    const { place } = walk;
    walk.chapter('Who there is');
    await walk.begins(`edge login --url ${place.url}`);
    await walk.hears(/Key for \S+:$/u);
    await walk.answers(FLEET_KEYS.MASTER_KEY);
    await walk.ends();
    await walk.runs('edge status');
    await walk.runs('edge node ls');
    await walk.runs("edge node ls -l 'env=prod,tier!=db'");
    await walk.runs('edge node label canary -n web-1');
    await walk.runs('edge node ls -l canary');

    walk.chapter('A group under a name');
    await walk.runs('edge group create web -l tier=web');
    await walk.runs('edge group get web');

    walk.chapter('Commands on many');
    await walk.runs('edge run -n web-1 -- app');
    await walk.runs('edge run --in web -b -- app');
    await walk.runs('edge run -c prod -b -- app');
    await walk.runs('edge run --again $(edge command ls -q --limit 1) --failed');
    await walk.runs('edge run -l env=prod --diff -- app');

    walk.chapter('Into a machine');
    await walk.runs("ssh-keygen -q -t ed25519 -N '' -C ada -f key");
    await walk.runs('edge sshuser add web-1 ada -k @key.pub');
    await walk.runs('edge ssh -i key ada@web-1 -- app');
    await walk.runs('edge ssh -i key root@web-1 -- app');

    walk.chapter('A machine goes away');
    await walk.begins('edge node ls --watch');
    await walk.keepsScreen('all is well', /web-2 .*healthy[^]*Ctrl-C ends/u);
    place.agent('web-2').kill();
    await walk.keepsScreen('web-2 loses its power', /web-2 .*unreachable/u);
    await walk.presses('C-c');
    await walk.ends();
    await walk.runs('edge run -c prod -l tier=web -- app');
    await walk.runs('edge doctor web-2');
    await walk.runs('edge status');

    walk.chapter('Slips');
    await walk.runs('edge nod ls');
    await walk.runs('edge node ls --status up');
    await walk.runs('edge node get web-3');
    await walk.runs('edge run -- app');
    await walk.runs('edge logout');
    await walk.runs(`edge --url ${walk.place.url} node ls`); // the usual place may be an admin of somebody else
  },
};
