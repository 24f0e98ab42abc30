/** A mirror of releases as any web server is one: files of a directory, with Range, and faults on demand. */
import { createReadStream, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join, normalize } from 'node:path';
import { listening } from '../net/listening.ts';
import type { Scope } from '../scope.ts';

/** What a mirror does to a request. `ok`: what it should. */
export type MirrorFault = 'ok' | 'garbage' | 'cut' | 'stall' | 'missing' | 'no-range' | 'busy';

/** A running mirror. */
export interface ReleaseMirror {
  /** The base URL: `<url>/releases/metadata/` and `<url>/releases/targets/`, as at an admin. */
  readonly url: string;
  /** Every request: method, path and its Range, in order. */
  readonly requests: { readonly method: string; readonly path: string; readonly range: string | undefined }[];
  /** What it does from now on, by the path below `/releases/`. */
  behave(fault: (path: string) => MirrorFault): void;
}

/** Serves the directory of a repository until the test ends. */
export async function mirrorReleases(scope: Scope, directory: string): Promise<ReleaseMirror> {
  const requests: { method: string; path: string; range: string | undefined }[] = [];
  let faultOf: (path: string) => MirrorFault = () => 'ok';
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? '/', 'http://mirror').pathname));
    requests.push({ method: request.method ?? '', path, range: request.headers.range });
    const below = path.replace(/^\/releases\//u, '');
    answer(request, response, join(directory, below), faultOf(below));
  });
  return {
    url: `http://127.0.0.1:${await listening(scope, server)}`,
    requests,
    behave: (fault) => {
      faultOf = fault;
    },
  };
}

function answer(request: IncomingMessage, response: ServerResponse, file: string, fault: MirrorFault): void {
  if (fault === 'stall') return;
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (fault === 'busy') return void response.writeHead(503, { 'retry-after': '5' }).end();
  if (fault === 'missing' || size === undefined) return void response.writeHead(404).end();
  if (fault === 'garbage') return void response.writeHead(200).end(Buffer.alloc(size, 'garbage'));
  const [, from] = /^bytes=(\d+)-$/u.exec(request.headers.range ?? '') ?? [];
  const start = fault === 'no-range' || from === undefined ? 0 : Number(from);
  if (start >= size) return void response.writeHead(416, { 'content-range': `bytes */${size}` }).end();
  const range = start === 0 ? {} : { 'content-range': `bytes ${start}-${size - 1}/${size}` };
  response.writeHead(start === 0 ? 200 : 206, { 'content-length': size - start, 'accept-ranges': 'bytes', ...range });
  const end = fault === 'cut' ? start + Math.floor((size - start) / 2) : size - 1;
  const content = createReadStream(file, { start, end });
  content.on('end', () => fault === 'cut' && response.destroy());
  content.pipe(response, { end: fault !== 'cut' });
}
