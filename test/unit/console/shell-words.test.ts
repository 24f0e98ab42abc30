import test from 'ava';
import { execFileSync } from 'node:child_process';
import { commandLine, curlLine, feedLine, quoted } from '../../../console/shell-words.ts';

const HOSTILE = ['a b', "it's", '$(id)', '`id`', '"; rm -rf /', '\n', '', '*', '~', 'a\\b', '\u202e'];

test('a word is the same word in a shell, whatever stands in it', (t) => {
  for (const word of [...HOSTILE, 'plain-1.2/x@y'])
    t.is(execFileSync('sh', ['-c', `printf %s ${quoted(word)}`], { encoding: 'utf8' }), word);
});

test('a command keeps what it begins with and quotes its words', (t) => {
  t.is(commandLine('edge node show', 'web 1', '--yes'), "edge node show 'web 1' --yes");
});

test('a request has its method, and its body as JSON of one word', (t) => {
  const body = { name: "it's" };

  t.is(
    curlLine('https://a', '/nodes?x=1'),
    `curl -H "Authorization: Bearer $EDGE_API_KEY" 'https://a/api/v1/nodes?x=1'`,
  );
  t.is(
    curlLine('https://a', '/aliases', { method: 'POST', body }),
    String.raw`curl -X POST -H "Authorization: Bearer $EDGE_API_KEY" -H 'Content-Type: application/json' -d '{"name":"it'\''s"}' 'https://a/api/v1/aliases'`,
  );
});

test('a feed is followed with what is asked for in its address', (t) => {
  t.is(
    feedLine('https://a', 'events.watch', { types: ["it's"], latest: 2 }),
    `curl -N -H "Authorization: Bearer $EDGE_API_KEY" 'https://a/api/trpc/events.watch?input=%7B%22types%22%3A%5B%22it%27s%22%5D%2C%22latest%22%3A2%7D'`,
  );
});
