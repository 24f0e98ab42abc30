/** What is installed: the same on every machine, from wherever. */
import test from 'ava';
import lockFile from '../package-lock.json' with { type: 'json' };
import packageFile from '../package.json' with { type: 'json' };

test('the lock file names no registry', (t) => {
  t.notRegex(JSON.stringify(lockFile), /"resolved":"https?:/u);
});

test('the lock file has an entry for every dependency of every platform, else npm ci refuses it', (t) => {
  const { packages } = lockFile as {
    packages: Record<string, { optionalDependencies?: Record<string, string>; dependencies?: Record<string, string> }>;
  };
  const installed = new Set(Object.keys(packages).map((path) => path.split('node_modules/').at(-1)));
  const wanted = Object.values(packages).flatMap((entry) =>
    Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }),
  );

  t.deepEqual(
    wanted.filter((name) => !installed.has(name)),
    [],
  );
});

test('dependencies are exact versions', (t) => {
  const versions = Object.values({
    ...packageFile.dependencies,
    ...packageFile.devDependencies,
    ...packageFile.optionalDependencies,
  });

  t.deepEqual(
    versions.filter((version) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/u.test(version)),
    [],
  );
});
