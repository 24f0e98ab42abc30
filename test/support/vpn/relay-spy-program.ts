/**
 * A relay as a process of its own that looks into every byte which its clients send, past TLS, for a marker. Prints its
 * map, and what it saw so far, a few times a second.
 */
import { openAdmission } from './relay.ts';
import { silentLog } from '../log.ts';
import { ownRelayMap } from '../../../transport/vpn/relay/map.ts';
import { Relay } from '../../../transport/vpn/relay/relay.ts';
import { certificateSha256, selfSigned } from '../../../transport/vpn/relay/self-signed.ts';
import { listenForRelay } from '../../../transport/vpn/relay/server.ts';

/** Between two lines, in ms. */
const SAY_MS = 200;

const [address = '', port = '', regionId = '', hexMarker = ''] = process.argv.slice(2);
const marker = Buffer.from(hexMarker, 'hex');
const relay = new Relay({ admission: openAdmission, log: silentLog });
let bytes = 0;
let markers = 0;
const { certificate, key } = selfSigned(address, Date.now());
await listenForRelay({
  host: address,
  port: Number(port),
  certificate,
  key,
  map: null,
  relay: {
    publicKey: relay.publicKey,
    close: () => relay.close(),
    accept(stream, head, from) {
      let tail = Buffer.alloc(0);
      stream.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        const seen = Buffer.concat([tail, chunk]);
        if (seen.includes(marker)) markers += 1;
        tail = Buffer.from(seen.subarray(-marker.length + 1));
      });
      relay.accept(stream, head, from);
    },
  },
});
console.log(
  JSON.stringify({
    msg: 'relaying',
    derpMap: ownRelayMap({
      id: Number(regionId),
      code: 'spy',
      hostName: address,
      port: Number(port),
      pin: certificateSha256(certificate),
    }),
  }),
);
setInterval(() => console.log(JSON.stringify({ msg: 'seen', bytes, markers })), SAY_MS);
