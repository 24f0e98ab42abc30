/**
 * The floor of a relay: bytes through two TLS connections and a process between them that passes them on. A program
 * with three parts, by its first word: `in PORT HOST:PORT` takes TCP and goes on by TLS, `relay PORT HOST:PORT KEY
 * CERTIFICATE` takes TLS and goes on by TLS, `out PORT
 * HOST:PORT KEY CERTIFICATE` takes TLS and goes on by TCP. No names, no permissions, no frames; only back-pressure.
 */
import { readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';

const [part = '', port = '', target = '', key = '', certificate = ''] = process.argv.slice(2);
const [host = '', targetPort = ''] = target.split(':');

function join(outer: Socket): void {
  const inner =
    part === 'out'
      ? connect({ host, port: Number(targetPort), noDelay: true })
      : connectTls({ host, port: Number(targetPort), rejectUnauthorized: false });
  for (const [from, to] of [
    [outer, inner],
    [inner, outer],
  ] as const) {
    from.setNoDelay(true);
    from.pipe(to);
    from.on('error', () => to.destroy()).on('close', () => to.destroy());
  }
}

const server =
  part === 'in'
    ? createServer(join)
    : createTlsServer({ key: readFileSync(key), cert: readFileSync(certificate) }, join);
server.listen(Number(port), () => console.log('listens'));
