import { describe, expect, test } from 'vitest';
import { recordedProjects } from '../../../../functions/poller/account/discovery/list-page.ts';
import { projectKey } from '../../../../shared/store/keys.ts';
import { anInvocation, named } from '../invocation-under-test.ts';

describe('the projects that have a record', () => {
  test('are those that the table knows, and those whose record this version cannot read, in the order of the question', async () => {
    const { deps, list, script, table } = anInvocation();
    script.pages = { '': { projects: named('a', 'b') } };
    await list();
    table.sync.update({ key: projectKey('main', 'later'), set: { kind: 'project', is_visible: 'perhaps' } });

    expect(await recordedProjects(deps.store, ['new', 'later', 'b', 'a'])).toEqual(['later', 'b', 'a']);
  });

  test('are not known while the table fails: the list brings them', async () => {
    const { store } = anInvocation();
    const busy = {
      ...store,
      readProject: async (id: string) => {
        if (id === 'b') throw new Error('the table is busy');
        return store.readProject(id);
      },
    };

    expect(await recordedProjects(busy, ['a', 'b'])).toEqual([]);
  });
});
