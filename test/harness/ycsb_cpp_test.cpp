// The database of YCSB-cpp: records of fields, shared by the threads of the harness.
#include <core/db_factory.h>
#include <gtest/gtest.h>
#include <utils/utils.h>

#include <memory>

#include "durahash/table.hpp"
#include "store/scratch.hpp"

namespace durahash::test {
namespace {

using ycsbc::DB;

class YcsbCpp : public testing::Test {
 protected:
  void SetUp() override {
    properties_.SetProperty("durahash.path", folder_.file("pool"));
    properties_.SetProperty("durahash.engine", "cceh");
  }
  std::unique_ptr<DB> database() {
    auto make = ycsbc::DBFactory::creators().find("durahash");
    EXPECT_NE(make, ycsbc::DBFactory::creators().end());
    std::unique_ptr<DB> made(make->second());
    made->SetProps(&properties_);
    made->Init();
    return made;
  }
  /// "name=value " of each.
  static std::string read(DB& from, const std::string& key,
                          const std::vector<std::string>* fields = nullptr) {
    std::vector<DB::Field> found;
    if (DB::Status answer = from.Read("usertable", key, fields, found); answer != DB::kOK)
      return "answer " + std::to_string(answer);
    std::string all;
    for (const DB::Field& f : found) all += f.name + "=" + f.value + " ";
    return all;
  }

  scratch_folder folder_;
  ycsbc::utils::Properties properties_;
};

TEST_F(YcsbCpp, FieldsAreReadChangedAndFoundAgain) {
  std::vector<DB::Field> both{{"field0", "zero"}, {"field1", std::string("o\0ne", 4)}};
  std::vector<DB::Field> second{{"field1", "ONE"}};
  {
    auto db = database(), of_another_thread = database();
    EXPECT_EQ(db->Insert("usertable", "user1", both), DB::kOK);
    EXPECT_EQ(read(*of_another_thread, "user1"),
              "field0=zero field1=" + std::string("o\0ne", 4) + " ");
    EXPECT_EQ(of_another_thread->Update("usertable", "user1", second), DB::kOK);
    std::vector<std::string> first{"field0"};
    EXPECT_EQ(read(*db, "user1", &first), "field0=zero ");
    EXPECT_EQ(db->Update("usertable", "user2", second), DB::kNotFound);
    EXPECT_EQ(read(*db, "user2"), "answer " + std::to_string(DB::kNotFound));
    std::vector<std::vector<DB::Field>> none;
    EXPECT_THROW(db->Scan("usertable", "user1", 1, nullptr, none), ycsbc::utils::Exception);
    db->Cleanup(), of_another_thread->Cleanup();
  }
  auto pool = table::open(folder_.file("pool"), {.mode = open_mode::read_only});
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_TRUE(pool->info().clean);
  EXPECT_EQ(pool->kinds().engine, engine_kind::cceh);
  pool->close();

  auto db = database();
  EXPECT_EQ(read(*db, "user1"), "field0=zero field1=ONE ");
  EXPECT_EQ(db->Delete("usertable", "user1"), DB::kOK);
  EXPECT_EQ(db->Delete("usertable", "user1"), DB::kNotFound);
  db->Cleanup();
}

TEST_F(YcsbCpp, BeginsWithAnEmptyPoolWhereItIsTold) {
  std::vector<DB::Field> one{{"field0", "zero"}};
  auto db = database();
  EXPECT_EQ(db->Insert("usertable", "user1", one), DB::kOK);
  db->Cleanup();
  properties_.SetProperty("durahash.destroy", "true");
  db = database();
  EXPECT_EQ(read(*db, "user1"), "answer " + std::to_string(DB::kNotFound));
  db->Cleanup();
}

TEST_F(YcsbCpp, WhatItIsNotToldRightEndsTheRunWithASentence) {
  properties_.SetProperty("durahash.engine", "hopscotch");
  EXPECT_THROW(database(), ycsbc::utils::Exception);
  properties_.SetProperty("durahash.engine", "turbo");
  for (const char* capacity : {"many", "99999999999999999999"}) {
    properties_.SetProperty("durahash.capacity", capacity);
    EXPECT_THROW(database(), ycsbc::utils::Exception) << capacity;
  }
  properties_.SetProperty("durahash.capacity", "100");
  properties_.SetProperty("durahash.path", "/nowhere/pool");
  EXPECT_THROW(database(), ycsbc::utils::Exception);
}

}  // namespace
}  // namespace durahash::test
