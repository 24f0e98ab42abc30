import { join } from 'node:path';
import test from 'ava';
import { AdminDouble } from '../../support/agent/admin-double.ts';
import { AgentProcess } from '../../support/agent/agent-process.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test('an admin beyond loopback that is named by http:// is warned of once at each start, enrolled or not', async (t) => {
  const admin = await AdminDouble.start();
  t.teardown(() => admin.close());
  const settings = { ENROLLMENT_KEY: admin.key(), AGENT_DATA_DIR: join(temporaryDirectory(t), 'data') };
  const logs: string[] = [];

  for (const beyond of [',http://192.0.2.1:44000/path', ',http://192.0.2.1:44000/path', ',https://192.0.2.1']) {
    const agent = AgentProcess.start(t, { ...settings, ADMIN_URLS: `${admin.url}${beyond}` });
    await admin.session(logs.length);
    agent.terminate();
    await agent.exited;
    logs.push(agent.log);
  }

  t.deepEqual(
    logs.map((log) => log.split('is not encrypted').length - 1),
    [1, 1, 0],
  );
  t.regex(
    logs[0] ?? '',
    /What goes to admins is not encrypted, the key and the token of this node among it: http:\/\/192\.0\.2\.1:44000\. Put TLS/u,
  );
});
