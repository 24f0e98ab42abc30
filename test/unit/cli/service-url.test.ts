/** Where `edge` takes the service to be, however its URL is written. */
import test from 'ava';
import { serviceUrl } from '../../../cli/service/connection.ts';
import { Problem } from '../../../cli/problem.ts';

for (const [written, meant] of [
  ['http://admin:44000', 'http://admin:44000'],
  ['http://admin:44000/', 'http://admin:44000'],
  ['http://admin:44000/api/v1', 'http://admin:44000'],
  ['http://admin:44000/api/v1/', 'http://admin:44000'],
  ['https://fleet.example/edge/api/v1', 'https://fleet.example/edge'],
  ['http://admin:44000/api/v2', 'http://admin:44000/api/v2'],
] as const)
  test(`${written} is the service at ${meant}, as a variable and as an option`, (t) => {
    t.is(serviceUrl({}, { EDGE_URL: written }), meant);
    t.is(serviceUrl({ url: written }, { EDGE_URL: 'http://other:1' }), meant);
  });

for (const written of ['admin:44000', 'ftp://admin', '/api/v1', 'http://', 'http://ada:CANARY@admin:44000/api/v1'])
  test(`${written} is none, and no password is repeated`, (t) => {
    const problem = t.throws(() => serviceUrl({}, { EDGE_URL: written }), { instanceOf: Problem });

    t.notRegex(problem.message, /CANARY/u);
  });
