/** A relay as a process of its own, on a machine of a test's internet. Prints its map. */
import { createScope } from '../scope.ts';
import { startRelay } from './relay.ts';

const [address = '', port = '', regionId = ''] = process.argv.slice(2);
const { derpMap } = await startRelay(createScope(), {
  host: address,
  hostName: address,
  port: Number(port),
  regionId: Number(regionId),
});
console.log(JSON.stringify({ msg: 'relaying', derpMap }));
