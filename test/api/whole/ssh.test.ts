/** SSH usernames, keys and logins, through a whole admin with an agent that says what a test makes it say. */
import test from 'ava';
import { startFleet } from './fleet.ts';

test('an SSH username is made with keys, read, listed and deleted', async (t) => {
  const { request, cluster } = await startFleet(t);
  const [node = ''] = await cluster('one', 1);

  const made = await request('POST', `/nodes/${node}/ssh_usernames`, { username: 'operator', password: 'correct horse battery' });
  t.is(made.status, 201, JSON.stringify(made.error));
  const read = await request('GET', `/ssh_usernames/${String(made.data['id'])}`);
  t.deepEqual(read.data, made.data);
  const again = await request('POST', `/nodes/${node}/ssh_usernames`, { username: 'operator' });
  t.is(again.status, 409, JSON.stringify(again.error));
  t.is((await request('GET', '/ssh_usernames?username=oper*')).total, 1);
  t.is((await request('DELETE', `/ssh_usernames/${String(made.data['id'])}`)).status, 204);
  t.is((await request('DELETE', `/ssh_usernames/${String(made.data['id'])}`)).status, 404);
});
